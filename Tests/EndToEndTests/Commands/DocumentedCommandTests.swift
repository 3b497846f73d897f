import Foundation
import TestSupport
import Testing

/// The commands of README.md and Deploy/OPERATING.md, read from there and typed one after the other
/// in the deployment that they describe: /var/lib/reveille and /usr/local in a mount namespace of
/// their own, the units' commands in place of systemd.
@Suite("What the documents tell an operator to type", .timeLimit(.minutes(5)))
struct DocumentedCommandTests {
    private static let hasNamespaces =
        (try? PythonScript.run(
            "import subprocess,sys; sys.exit(subprocess.call("
                + "['unshare', '--user', '--map-root-user', '--mount', 'mount', '-t', 'tmpfs', "
                + "'none', '/var/lib']))")) == 0

    /// What a line begins with that is typed elsewhere, and where.
    private static let elsewhere = [
        "Deploy/build", "Deploy/reproduce",  // built already
        "Deploy/try", "Tests/check",  // runs of their own
        "sudo cp Deploy/nginx.conf", "sudo systemctl restart nginx",  // FrontTests
        "sudo systemctl daemon-reload && sudo systemctl enable --now reveille-feed-monitor",
        "sudo systemctl start reveille-feed-monitor",  // FeedMonitorTests
        "Deploy/install --user", "systemctl --user", "reveille-client", "curl",  // a device's
    ]

    /// Commands that say no in a service to which nobody has come yet, with their status.
    private static let refused: [(line: String, status: Int)] = [
        ("reveille broadcast", 1), ("reveille broadcast --stop", 1),
        ("reveille feed directives --retire", 1),
    ]

    private static let script = #"""
        set -u
        repository=$1 programs=$2 commands=$3
        log=example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k
        for directory in /var/lib /usr/local /run; do mount -t tmpfs none $directory; done
        export PATH=/usr/local/bin:$PATH FROM=$programs HOME=/run/home
        mkdir -p $HOME /run/work && cd /run/work
        unit() { sed -n "s/^$2=//p" "/usr/local/lib/systemd/system/$1.service"; }
        sudo() { if [ "$1" = -u ]; then shift 2; fi; "$@"; }
        useradd() { :; }
        install() { mkdir -m 700 -p "${@: -1}"; }
        appears() { for _ in $(seq 600); do if [ -S $1 ]; then break; fi; sleep 0.1; done; }
        systemctl() {
            case $1 in
            daemon-reload) ;;
            enable)
                case $3 in reveille-witness) name=reveille-witness ;; *) name=reveille ;; esac
                mkdir -p /run/$name
                $(unit $name ExecStart) 2>>/run/log &
                echo $! >>/run/pid
                appears /run/$name/http.sock
                if [ $name = reveille ]; then $(unit reveille-feed ExecStart); fi
                ;;
            reload) $(unit ${2:-reveille} ExecReload) ;;
            *) return 99 ;;
            esac
        }
        while IFS= read -r line; do
            if [ "$line" = "[relay]" ]; then
                printf '\n[relay]\nauthority = wake.example.org\n' >>/var/lib/reveille/reveille.conf
                continue
            fi
            case $line in
            *PUBLIC_KEY*) line=${line/PUBLIC_KEY/$key} ;;
            *VKEY*) line=${line/VKEY/$log} ;;
            esac
            case $line in
            "sudo Deploy/"*) said=$(cd "$repository" && eval "$line" 2>&1 </dev/null) ;;
            *enable*) eval "$line" >/run/said 2>&1 </dev/null ;;
            *\<*) eval "$line" >/run/said 2>&1 ;;
            *) eval "$line" >/run/said 2>&1 </dev/null ;;
            esac
            status=$?
            case $line in *"--kind relay"*) key=$(cat /run/said) ;; esac
            echo "$status $line"
            sed 's/^/    /' /run/said 2>/dev/null | head -5
        done <"$commands"
        kill $(cat /run/pid)
        wait
        """#

    /// The lines of the blocks of code of a document that are commands, without their comments.
    private func commands(of document: String) throws -> [String] {
        var isCode = false
        var lines: [String] = []
        let begins = ["sudo ", "reveille ", "head ", "systemctl ", "Deploy/", "Tests/", "swift "]
        for line in try Repository.text(document).split(separator: "\n") {
            if line.hasPrefix("```") {
                isCode.toggle()
                continue
            }
            guard isCode, begins.contains(where: line.hasPrefix) else { continue }
            let command = String(line.firstRange(of: "  #").map { line[..<$0.lowerBound] } ?? line)
            lines.append(String(command.reversed().drop { $0 == " " }.reversed()))
        }
        return lines.filter { line in !Self.elsewhere.contains(where: line.hasPrefix) }
    }

    @Test(
        "each of them works, from installation to a relay",
        .enabled(if: hasNamespaces, "needs user namespaces"))
    func typed() async throws {
        let directory = try TemporaryDirectory()
        let readme = try commands(of: "README.md")
        let operating = try commands(of: "Deploy/OPERATING.md")
        #expect(readme.count > 10 && operating.count > 14, "\(readme) \(operating)")
        let all = readme + ["[relay]"] + operating + ["systemctl reload reveille"]
        let list = directory.path + "/commands"
        try (all.joined(separator: "\n") + "\n").write(
            toFile: list, atomically: true, encoding: .utf8)
        let (status, output) = try await RunningProgram.run(
            path: "/usr/bin/env",
            [
                "unshare", "--user", "--map-root-user", "--mount", "bash", "-c", Self.script, "-",
                Repository.root.path, RunningProgram.folder.path, list,
            ])
        #expect(status == 0, "\(output)")
        let lines = output.split(separator: "\n").map(String.init)
        for line in all where line != "[relay]" {
            let words = line.replacing("sudo -u reveille ", with: "")
            let expected = Self.refused.first { $0.line == words }?.status ?? 0
            // Up to the key that the test puts in place of a name.
            let key = line.firstRange(of: "PUBLIC_KEY") ?? line.firstRange(of: "VKEY")
            let mark = key.map { String(line[..<$0.lowerBound]) } ?? line
            let said = lines.contains { $0.hasPrefix("\(expected) \(mark)") }
            #expect(said, "\(line): \(output)")
        }
    }
}
