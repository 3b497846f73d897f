import Foundation
import TestSupport
import Testing
import WakeModel

@Suite(
    "Behind the fronts of Deploy, each with its real program",
    .enabled(
        if: !FrontUnderTest.Kind.installed.isEmpty,
        "no front is installed (apt: nginx-light, haproxy, caddy)"),
    .timeLimit(.minutes(5)))
struct FrontTests {
    typealias Kind = FrontUnderTest.Kind

    /// An address of the loopback net that nothing else here uses.
    private static let address = "127.73.41.9"

    @Test(
        "a registration over TLS arrives, and the front writes down neither address nor token",
        arguments: Kind.installed)
    func registration(_ kind: Kind) async throws {
        let service = try await FrontUnderTest.service(for: kind)
        let front = try await FrontUnderTest(kind, before: service)
        let device = TestDevice()
        #expect(try await curl(front, "PUT", device, body: device.body) == "204")
        #expect(try service.rows() == 1)
        let stored = try await curl(front, "GET", device)
        #expect(stored.contains(device.pushText) && stored.hasSuffix("200"))
        // What it refuses by itself, and what it can only log.
        let long = Array(repeating: UInt8(ascii: "x"), count: 5000)
        let refused = try await curl(front, "PUT", device, body: long)
        // Caddy passes on what fits before it refuses, so the service may be the one that answers.
        let isTooLarge = refused.contains(#""status":413,"code":"content_too_large"}"#)
        #expect(isTooLarge && refused.hasSuffix("413"), "\(refused)")
        let plain = words(front, "/").dropLast() + ["http://127.0.0.1:\(front.port)/"]
        _ = try await RunningProgram.run(path: "/usr/bin/curl", Array(plain))
        #expect(try await curl(front, "DELETE", device) == "204")
        #expect(try service.rows() == 0)
        #expect(await service.stop() == 0)
        let gone = try await curl(front, "GET", device)
        #expect(
            gone.hasSuffix(kind.whenGone) && gone.contains(#""status":\#(kind.whenGone),"code":""#))
        _ = await front.stop()
        #expect(try traces(of: device, in: front) == [])
        #expect(try service.files(containing: [Array(Self.address.utf8)]) == [])
        #expect(!service.program.output.contains(Self.address))
    }

    @Test(
        "the search is not blind: told to log, the front does write the address",
        arguments: Kind.installed)
    func control(_ kind: Kind) async throws {
        let service = try await FrontUnderTest.service(for: kind)
        let front = try await FrontUnderTest(kind, before: service, change: kind.logging)
        let device = TestDevice()
        #expect(await service.stop() == 0)
        #expect(try await curl(front, "GET", device).hasSuffix(kind.whenGone))
        _ = await front.stop()
        let logs = kind.description == "nginx" ? ["access.log", "error.log"] : ["output"]
        #expect(try traces(of: device, in: front) == logs)
    }

    @Test(
        "wakes pass as they are sent, and the feed byte by byte, at its own name alone",
        arguments: Kind.installed)
    func stream(_ kind: Kind) async throws {
        let service = try await FrontUnderTest.service(for: kind)
        let front = try await FrontUnderTest(kind, before: service)
        let stream = try RunningProgram(
            path: "/usr/bin/curl", words(front, "/v1/wakes") + ["--no-buffer"])
        _ = try await stream.line(containing: "data: 0")
        _ = try await service.publish([TestDevice().pushText], notes: [], "--then-broadcast")
        _ = try await stream.line(containing: "data: 1")
        stream.signal(SIGTERM)
        let path = front.directory.path + "/fetched"
        let head = try await RunningProgram.run(
            path: "/usr/bin/curl", words(front, "/feed/head", at: "feed") + ["-o", path])
        #expect(head.status == 0)
        let file = service.directory.path + "/service/feed/head"
        #expect(FileManager.default.contentsEqual(atPath: path, andPath: file))
        for (name, path) in [("wake", "/feed/head"), ("feed", "/v1/registration"), ("feed", "/")] {
            let status = try await RunningProgram.run(
                path: "/usr/bin/curl",
                words(front, path, at: name) + ["-w", "%{content_type} %{http_code}"])
            #expect(
                status.output.hasSuffix(#""code":"not_found"}application/problem+json 404"#),
                "\(name)\(path): \(status.output)")
        }
        _ = await front.stop()
    }

    @Test(
        "Caddy takes a changed file without an end, by `caddy reload` of its own user",
        .enabled(if: Kind.caddy.program != nil, "needs caddy"))
    func reload() async throws {
        let service = try await FrontUnderTest.service(for: .caddy)
        let front = try await FrontUnderTest(.caddy, before: service)
        let path = front.directory.path + "/Caddyfile"
        let text = try String(contentsOfFile: path, encoding: .utf8)
        try text.replacing("max_size 4KB", with: "max_size 1KB").write(
            toFile: path, atomically: true, encoding: .utf8)
        let answer = try await RunningProgram.run(
            path: Kind.caddy.program ?? "caddy",
            ["reload", "--config", path, "--adapter", "caddyfile", "--force"])
        #expect(answer.status == 0, "\(answer.output)")
        let body = Array(repeating: UInt8(ascii: "x"), count: 2000)
        #expect(try await curl(front, "PUT", TestDevice(), body: body).hasSuffix("413"))
        let socket = try FileManager.default.attributesOfItem(
            atPath: front.directory.path + "/admin.sock")
        let mode = try #require(socket[.posixPermissions] as? Int)
        #expect(mode & 0o022 == 0, "others could ask it for its connections")
        _ = await front.stop()
    }

    @Test("the service is not told the address in any field", arguments: Kind.installed)
    func forwarded(_ kind: Kind) async throws {
        let heads = Observed<[String]>([])
        let server = try WireServer { peer in
            guard var head = try? peer.receive(through: "\r\n\r\n") else { return }
            // The PROXY protocol's own head begins with an empty line.
            if head == "\r\n\r\n" { head = (try? peer.receive(through: head)) ?? "" }
            heads.update { $0.append(head.lowercased()) }
            try? peer.send("HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
        }
        defer { server.refuse() }
        let service = try await FrontUnderTest.service(for: kind)
        let socket = service.directory.path + "/service/http.sock"
        let front = try await FrontUnderTest(kind, before: service) { text in
            ["unix:", "unix@", "unix/"].reduce(text) {
                $0.replacing($1 + socket, with: "127.0.0.1:\(server.port)")
            }
        }
        #expect(try await curl(front, "GET", TestDevice()) == "204")
        _ = await front.stop()
        let head = try #require(heads.value.first)
        #expect(head.contains("authorization: bearer "))
        for word in ["forwarded", Self.address, "x-real-ip", "via:", "x-client"] {
            #expect(!head.contains(word), "\(head)")
        }
    }

    @Test(
        "a client that asks for every event stream there keeps nobody else from registering",
        .enabled(if: Kind.nginx.program != nil, "needs nginx"))
    func crowd() async throws {
        let service = try await FrontUnderTest.service(for: .nginx)
        let front = try await FrontUnderTest(.nginx, before: service) {
            $0.replacing(" ssl backlog", with: " backlog").replacing(" ssl;", with: ";")
        }
        let (streams, open) = try crowd(800, at: front)
        #expect(open == 32)
        try await others(front, "http")
        #expect(await front.stop() == 0)
        withExtendedLifetime(streams) {}
    }

    @Test(
        "one network takes its share of streams and connections of haproxy, and others register",
        .enabled(if: Kind.haproxy.program != nil, "needs haproxy"))
    func network() async throws {
        let service = try await FrontUnderTest.service(for: .haproxy)
        let front = try await FrontUnderTest(.haproxy, before: service) {
            $0.replacing(/ssl crt .*/) { _ in "" }
        }
        let (streams, open) = try crowd(300, at: front)
        #expect(open == 32)
        // Another network of the loopback's than the crowd's.
        try await others(front, "http")
        _ = await front.stop()
        withExtendedLifetime(streams) {}
    }

    /// Asks for so many streams over plain HTTP.
    private func crowd(
        _ count: Int, at front: FrontUnderTest
    ) throws -> (clients: [LoopbackClient], open: Int) {
        var clients: [LoopbackClient] = []
        var open = 0
        for _ in 0..<count {
            let client = try LoopbackClient(port: front.port)
            try? client.send("GET /v1/wakes HTTP/1.1\r\nHost: x\r\n\r\n")
            let head = (try? client.receive(through: "\r\n\r\n")) ?? ""
            if head.hasPrefix("HTTP/1.1 200") { open += 1 }
            clients.append(client)
        }
        return (clients, open)
    }

    private func others(_ front: FrontUnderTest, _ scheme: String) async throws {
        for _ in 0..<10 {
            let device = TestDevice()
            for method in ["PUT", "DELETE"] {
                let body = method == "PUT" ? device.body : []
                #expect(try await curl(front, method, device, body: body, scheme) == "204")
            }
        }
    }

    /// The files of the front that hold the address or anything of the device.
    private func traces(of device: TestDevice, in front: FrontUnderTest) throws -> [String] {
        let needles = device.forms + [Array(Self.address.utf8)]
        return FileSnapshot.names(of: try front.traces(), containing: needles)
    }

    private func words(
        _ front: FrontUnderTest, _ path: String, at name: String = "wake",
        _ scheme: String = "https"
    ) -> [String] {
        [
            "--silent", "--show-error", "--noproxy", "*", "--cacert", front.certificate,
            "--interface", Self.address, "--connect-to", "::127.0.0.1:",
            "\(scheme)://\(name).example.org:\(front.port)\(path)",
        ]
    }

    /// - Returns: the body and after it the status.
    private func curl(
        _ front: FrontUnderTest, _ method: String, _ device: TestDevice, body: [UInt8] = [],
        _ scheme: String = "https"
    ) async throws -> String {
        var words = words(front, "/v1/registration", scheme)
        words += ["-H", "Content-Type: application/json"]
        words += ["-X", method, "-H", "Authorization: Bearer \(device.token)"]
        words += ["--write-out", "%{http_code}"]
        if !body.isEmpty { words += ["--data-binary", "@-"] }
        return try await RunningProgram.run(path: "/usr/bin/curl", words, input: body).output
    }
}

@Suite(
    "The onion services of Deploy/torrc", .timeLimit(.minutes(1)),
    .enabled(if: InstalledPrograms.path("tor") != nil, "tor is not installed (apt: tor)"))
struct OnionTests {
    @Test("Tor takes the file, and both onions lead to where the service listens")
    func file() async throws {
        let directory = try TemporaryDirectory()
        let shipped = try Repository.text("Deploy/torrc")
        let path = directory.path + "/torrc"
        let text = shipped.replacing("/var/lib/tor/", with: directory.path + "/")
            .replacing("Log err syslog", with: "Log warn stdout")
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        let checked = try await RunningProgram.run(
            path: InstalledPrograms.path("tor") ?? "tor",
            [
                "--verify-config", "-f", path, "--defaults-torrc", "/dev/null", "--DataDirectory",
                directory.path + "/data",
            ])
        #expect(checked.status == 0, "\(checked.output)")
        #expect(checked.output.contains("Configuration was valid"), "\(checked.output)")
        let services = shipped.matches(of: /(?m)^HiddenServiceDir \S+/).count
        let ports = shipped.matches(of: /(?m)^HiddenServicePort 80 (\S+)$/).map { String($0.1) }
        #expect(services == 2 && ports.count == 2)
        let nginx = try Repository.text("Deploy/nginx.conf")
        for port in ports { #expect(nginx.contains("proxy_pass http://\(port);")) }
        // The package and README set the same.
        for file in ["README.md", "Deploy/debian/postinst"] {
            #expect(try Repository.text(file).contains("--listen \(ports[0])"), "\(file)")
        }
    }
}
