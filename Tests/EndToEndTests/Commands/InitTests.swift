import TestSupport
import Testing
import WakeSystem

@Suite("reveille init", .timeLimit(.minutes(5)))
struct InitTests {
    private let directory: TemporaryDirectory
    private let root: String
    private let files = [
        "data/generation-0.db", "data/generation-1.db", "keys/registration.key", "keys/feed.key",
        "feed/head",
        "keys/vapid.key", "reveille.conf",
    ]

    init() throws {
        directory = try TemporaryDirectory()
        root = directory.path + "/service"
    }

    private func initialize() async throws -> (status: Int32, output: String) {
        try await RunningProgram.run("reveille", ["init", root])
    }

    /// What the first so many steps leave, the last of them half done.
    private func cut(after steps: Int) throws {
        let nothing: [UInt8] = []
        try Files.create(root + "/init-unfinished", with: nothing.span)
        for (index, file) in files.enumerated() where index >= steps {
            guard index == steps else {
                try Files.remove(root + "/" + file)
                continue
            }
            let bytes = try Files.read(root + "/" + file, limit: 1 << 20)
            let half = Array(bytes.prefix(bytes.count / 2))
            try Files.replace(root + "/" + file, with: half.span)
        }
    }

    @Test("one that was cut short is repeated, wherever it was cut", arguments: 0..<5)
    func cutShort(_ steps: Int) async throws {
        #expect(try await initialize().status == 0)
        try cut(after: steps)
        let again = try await initialize()
        #expect(again.status == 0, "\(again.output)")
        #expect(!Files.exists(root + "/init-unfinished"))
        let check = try await RunningProgram.run(
            "reveille", ["check", "--config", root + "/reveille.conf"])
        #expect(check.status == 0, "\(check.output)")
    }

    @Test("the address it is given is in the file from the start, and must be one")
    func listen() async throws {
        let wrong = try await RunningProgram.run("reveille", ["init", root, "--listen", "nowhere"])
        #expect(wrong.status == 2 && !Files.exists(root))
        let given = ["init", root, "--listen", "unix:/run/reveille/http.sock"]
        #expect(try await RunningProgram.run("reveille", given).status == 0)
        let file = try Files.read(root + "/reveille.conf", limit: 1 << 16)
        let lines = String(decoding: file, as: UTF8.self).split(separator: "\n")
        #expect(lines.contains("listen = unix:/run/reveille/http.sock"))
        #expect(!lines.contains("listen = 127.0.0.1:8080"))
    }

    @Test("what was in use, or is not its own, is not touched")
    func foreign() async throws {
        #expect(try await initialize().status == 0)
        #expect(try await initialize().status != 0)
        try cut(after: 5)
        try Files.remove(root + "/reveille.conf")
        let nothing: [UInt8] = []
        try Files.create(root + "/data/reserve", with: nothing.span)
        let database = try Files.read(root + "/" + files[0], limit: 1 << 20)
        let used = try await initialize()
        #expect(used.status != 0 && used.output.contains("nothing is overwritten"))
        try Files.remove(root + "/data/reserve")
        try Files.remove(root + "/init-unfinished")
        let unmarked = try await initialize()
        #expect(unmarked.status != 0 && unmarked.output.contains("nothing is overwritten"))
        #expect(try Files.read(root + "/" + files[0], limit: 1 << 20) == database)
    }
}
