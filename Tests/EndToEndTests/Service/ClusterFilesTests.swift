import Foundation
import TestSupport
import Testing

@Suite("The files of Deploy/cluster, and the container's", .timeLimit(.minutes(5)))
struct ClusterFilesTests {
    private static let manifests = Repository.absolute("Deploy/cluster/kubernetes.yaml")

    @Test("a shard's unit is the service's, but for its places")
    func unit() throws {
        let unit = try Repository.text("Deploy/cluster/reveille@.service")
        let ownPlaces = unit.replacing("/var/lib/reveille/%i/", with: "/var/lib/reveille/")
            .replacing("Directory=reveille/%i\n", with: "Directory=reveille\n")
            .replacing(" (shard %i)\n", with: "\n")
        let body = { (text: String) in text.components(separatedBy: "[Unit]").last }
        #expect(body(ownPlaces) == body(try Repository.text("Deploy/reveille.service")))
        #expect(unit.components(separatedBy: "%i").count == 6)
    }

    @Test(
        "the manifests are what the schemas of Kubernetes allow, and nothing else",
        .enabled(
            if: PythonScript.has("kubernetes_validate"),
            "needs Python's kubernetes-validate"))
    func schemas() async throws {
        let script = """
            import sys, yaml, kubernetes_validate as check
            documents = list(yaml.safe_load_all(open(sys.argv[1])))
            for document in documents:
                check.validate(document, check.latest_version(), strict=True)
            broken = [d for d in documents if d["kind"] == "StatefulSet"][0]
            broken["spec"]["replica"] = 3
            try:
                check.validate(broken, check.latest_version(), strict=True)
            except check.ValidationError:
                print("valid", len(documents))
            """
        let answer = try await python(script)
        #expect(answer == "valid 8\n")
    }

    @Test(
        "the manifests' names lead to one another: volumes, selectors, ports, service",
        .enabled(if: PythonScript.has("yaml"), "needs Python's yaml"))
    func references() async throws {
        let script = """
            import sys, yaml
            all = list(yaml.safe_load_all(open(sys.argv[1])))
            kinds = lambda *words: [d for d in all if d["kind"] in words]
            for work in kinds("StatefulSet", "Deployment"):
                spec, pod = work["spec"], work["spec"]["template"]
                assert spec["selector"]["matchLabels"] == pod["metadata"]["labels"]
                own = [v["name"] for v in pod["spec"]["volumes"]]
                own += [c["metadata"]["name"] for c in spec.get("volumeClaimTemplates", [])]
                used = set()
                assert pod["spec"]["securityContext"]["runAsNonRoot"] is True
                for part in pod["spec"]["containers"] + pod["spec"].get("initContainers", []):
                    used |= {m["name"] for m in part.get("volumeMounts", [])}
                    context = part["securityContext"]
                    assert context["readOnlyRootFilesystem"] is True
                    assert context["allowPrivilegeEscalation"] is False
                    assert context["capabilities"]["drop"] == ["ALL"]
                assert used == set(own), (used, own)
            pods = [w["spec"]["template"] for w in kinds("StatefulSet", "Deployment")]
            for service in kinds("Service"):
                to = [p for p in pods if p["metadata"]["labels"] == service["spec"]["selector"]]
                assert len(to) == 1
                ports = [p for c in to[0]["spec"]["containers"] for p in c["ports"]]
                for port in service["spec"]["ports"]:
                    target = port.get("targetPort", port["port"])
                    assert [p for p in ports if target in (p["name"], p["containerPort"])]
            names = [s["metadata"]["name"] for s in kinds("Service")]
            assert kinds("StatefulSet")[0]["spec"]["serviceName"] in names
            print("sound")
            """
        #expect(try await python(script) == "sound\n")
    }

    @Test(
        "haproxy takes the file as README changes it for Kubernetes",
        .enabled(if: ClusterUnderTest.isInstalled, "haproxy is not installed (apt: haproxy)"))
    func kubernetes() async throws {
        let readme = try Repository.text("Deploy/cluster/README.md")
        let start = try #require(readme.range(of: "```\nsed -e"))
        let rest = readme[start.lowerBound...].dropFirst(4)
        let command = rest.components(separatedBy: "\n```")[0]
        let directory = try TemporaryDirectory()
        let folder = Repository.absolute("Deploy/cluster")
        let changed = try await RunningProgram.run(
            path: "/bin/sh", ["-euc", "cd '\(folder)' && \(command)"])
        #expect(changed.status == 0)
        #expect(!changed.output.contains("unix@"))
        #expect(changed.output.matches(of: /server shard\d reveille-\d\.reveille:8080/).count == 9)
        // Without certificates here.
        let text = changed.output.replacing(/bind :8443 .*/) { _ in "bind 127.0.0.1:8443" }
        let path = directory.path + "/haproxy.cfg"
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        let checked = try await RunningProgram.run(
            path: ClusterUnderTest.haproxy, ["-c", "-f", path])
        #expect(checked.status == 0, "\(checked.output)")
    }

    @Test("the container's stages copy what there is, and its last one runs as nobody")
    func container() throws {
        let text = try Repository.text("Deploy/Containerfile")
            .replacing("\\\n", with: " ")
        let lines = text.split(separator: "\n").filter { !$0.hasPrefix("#") }
        let stages = lines.indices.filter { lines[$0].hasPrefix("FROM ") }
        #expect(stages.count == 3)
        let names = lines.compactMap { $0.wholeMatch(of: /ARG (\w+)=.*/)?.1 }
        for stage in stages {
            let argument = try #require(lines[stage].firstMatch(of: /\$\{(\w+)\}/)?.1)
            #expect(names.contains(argument))
        }
        for line in lines {
            guard let copy = line.wholeMatch(of: /COPY (--from=\w+ )?(\S+) (\S+)/) else { continue }
            if copy.1 == nil {
                let path = Repository.absolute(String(copy.2))
                #expect(FileManager.default.fileExists(atPath: path), "\(line)")
            } else {
                #expect(copy.2 == "/source/.build/release/reveille")
            }
        }
        let last = lines[(try #require(stages.last))...]
        func line(_ word: String) throws -> Substring {
            try #require(last.first { $0.hasPrefix(word + " ") })
        }
        #expect(try line("USER") == "USER 10001:10001")
        #expect(try line("HEALTHCHECK").contains(#"CMD ["reveille", "status", "--json"]"#))
        #expect(try line("ENTRYPOINT") == #"ENTRYPOINT ["reveille"]"#)
        let state = try line("ENV").dropFirst("ENV REVEILLE_CONFIG=".count)
        #expect(try Repository.text("Deploy/cluster/kubernetes.yaml").contains("value: \(state) }"))
        // What the programs load at run time is there.
        for library in ["libcurl4", "libssl3", "libsodium23", "libsqlite3-0", "ca-certificates"] {
            #expect(last.contains { $0.contains(" \(library) ") }, "\(library)")
        }
    }

    private func python(_ script: String) async throws -> String {
        try await RunningProgram.run(
            path: "/usr/bin/env", ["python3", "-c", script, Self.manifests]
        ).output
    }
}
