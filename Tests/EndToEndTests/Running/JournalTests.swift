import Foundation
import TestSupport
import Testing

/// What both programs write where the journal reads them: lines of the policy, and no others.
@Suite("What the journal gets", .timeLimit(.minutes(5)))
struct JournalTests {
    private let directory: TemporaryDirectory
    private let root: String

    init() async throws {
        directory = try TemporaryDirectory()
        // A path that looks like a token.
        root = directory.path + "/Reveille2InstallationsOfAnna"
        let made = try await RunningProgram.run(
            "reveille", ["init", root, "--listen", "unix:\(directory.path)/http.sock"])
        #expect(made.status == 0, "\(made.output)")
    }

    /// Runs a command as under a unit whose standard streams lead to the journal.
    private func journal(_ command: String) async throws -> (status: Int32, lines: [String]) {
        let file = directory.path + "/journal"
        let script = """
            exec >"$2" 2>&1
            JOURNAL_STREAM=$(stat -Lc %d:%i "$2")
            export JOURNAL_STREAM
            PATH=$1:$PATH
            \(command)
            """
        let programs = RunningProgram.folder.path
        let done = try await RunningProgram.run(
            path: "/bin/sh", ["-c", script, "sh", programs, file, root])
        let text = try String(contentsOfFile: file, encoding: .utf8)
        return (done.status, text.split(separator: "\n").map(String.init))
    }

    private func expectClean(_ lines: [String]) async throws {
        let log = lines.map { $0.replacing(/^<[367]>/, with: "") + "\n" }.joined()
        let audit = try await RunningProgram.run(
            "reveille", ["audit", root + "/data", "--logs", "-"],
            input: Array(log.utf8))
        #expect(audit.status == 0, "\(log)\(audit.output)")
    }

    @Test(
        "a failure of a start has priority 3, and the audit takes it",
        arguments: [
            ("mv \"$3/keys\" \"$3/away\"", "[webpush] key"),
            ("chmod 644 \"$3/keys/registration.key\"", "registration.key"),
            ("echo nonsense >>\"$3/reveille.conf\"", "reveille.conf"),
            ("sed -i 's|^listen = unix:/.*|listen = 192.0.2.1:1|' \"$3/reveille.conf\"", "[http]"),
            ("rm -r \"$3\"/*", "reveille.conf"),
        ])
    func start(_ fault: String, _ named: String) async throws {
        let names = ["/data/generation-0.db", "/data/generation-1.db"]
        let databases = try names.map { try Data(contentsOf: URL(filePath: root + $0)) }
        let (status, lines) = try await journal(
            fault + "; reveille serve --config \"$3/reveille.conf\"")
        #expect(status != 0 && !lines.isEmpty)
        #expect(lines.allSatisfy { $0.hasPrefix("<3>reveille error message ") }, "\(lines)")
        #expect(lines.contains { $0.contains(named) }, "\(lines)")
        #expect(!lines.contains { $0.contains("InstallationsOfAnna") }, "\(lines)")
        if fault.hasPrefix("rm") {
            try FileManager.default.createDirectory(
                atPath: root + "/data", withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700])
            for (name, database) in zip(names, databases) {
                try database.write(to: URL(filePath: root + name))
                unsafe chmod(root + name, 0o600)
            }
        }
        try await expectClean(lines)
    }

    @Test("what commands of units print, and the client's failures, are lines of the policy")
    func commands() async throws {
        let (_, lines) = try await journal(
            """
            reveille feed refresh --cover --config "$3/reveille.conf"
            reveille audit "$3/data"
            reveille-client run --state "$3/nobody"
            """)
        #expect(lines.contains("<6>reveille info message published a cover batch as sequence 1"))
        #expect(lines.contains { $0.hasPrefix("<3>reveille-client error message ") }, "\(lines)")
        try await expectClean(lines)
    }

    @Test(
        "libdispatch says nothing where a thread may not have the priority it asks for",
        .enabled(
            if: InstalledPrograms.path("setpriv") != nil && getuid() == 0, "needs root, and setpriv"
        ))
    func priorities() async throws {
        let (_, lines) = try await journal(
            """
            setpriv --bounding-set=-sys_nice nice -n 5 \
                reveille serve --config "$3/reveille.conf" &
            until grep -q started "$2"; do sleep 0.1; done
            kill $!; wait $!
            """)
        #expect(lines.first == "<6>reveille info started-on-socket")
        try await expectClean(lines)
    }
}
