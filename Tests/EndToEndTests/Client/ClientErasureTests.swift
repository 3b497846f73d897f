import Foundation
import TestSupport
import Testing
import WakeModel
import WakeSystem

/// What is left of the instance token once the service acknowledged that it forgot.
@Suite("Unregistered, no byte is left", .timeLimit(.minutes(5)))
struct ClientErasureTests {
    /// A registered client whose wish to be forgotten could not be sent, and what must not be left.
    private struct Unheard {
        let service: ServiceUnderTest
        let front: FaultyFront
        let client: ClientUnderTest
        let needles: [[UInt8]]
    }

    private func unheard(
        onArrival arrival: @escaping @Sendable (WireRequest) -> Void = { _ in }
    ) async throws -> Unheard {
        let service = try await ServiceUnderTest()
        let front = try FaultyFront(to: service.port, onArrival: arrival)
        let client = try await ClientUnderTest(of: service, at: front.url)
        let device = TestDevice()
        #expect(try await client.command("sync").status == 0)
        #expect(try await client.register(device) == 0)
        let needles = try #require(front.instanceToken).forms + device.forms.suffix(4)
        front.disconnect()
        let offline = try await client.command("unregister")
        #expect(offline.status == 75, "\(offline.output)")
        // The control: what is searched for is there to be found.
        #expect(try client.files(containing: needles) != [])
        #expect(try service.rows() == 1)
        // The back-off of up to half a minute goes by.
        let database = try Database(path: client.state + "/client.db", access: .readWrite)
        try Self.makeDue(database)
        return Unheard(service: service, front: front, client: client, needles: needles)
    }

    @Test("offline, killed, started again and online: DELETE is sent, then no byte in any file")
    func offline() async throws {
        let story = try await unheard()
        let client = story.client
        let first = try client.start("run", "--verbose")
        _ = try await first.line(containing: "registration failed")
        first.signal(SIGKILL)
        _ = await first.exit()
        #expect(try client.files(containing: story.needles) != [])
        #expect(!story.front.requests.contains { $0.method == "DELETE" })
        do {
            let database = try Database(path: client.state + "/client.db", access: .readWrite)
            try Self.makeDue(database)
        }
        try story.front.reconnect()
        let second = try client.start("run", "--verbose")
        _ = try await second.line(containing: "reveille-client: unregistered")
        // While it runs, with its log and its memory of files open; then as the kill leaves them.
        #expect(try client.files(containing: story.needles) == [])
        second.signal(SIGKILL)
        _ = await second.exit()
        #expect(try client.files(containing: story.needles) == [])
        #expect(ClientLines.unknown(first) == [] && ClientLines.unknown(second) == [])
        #expect(story.front.requests.count { $0.method == "DELETE" } == 1)
        #expect(try story.service.rows() == 0)
        #expect(try await client.command("unregister").output == "nothing was registered\n")
        #expect(try client.files(containing: story.needles) == [])
    }

    @Test(
        "with a disk that fills up just before the answer, no byte is left once it is forgotten",
        arguments: [0, 1, 3, 12, 40])
    func fullDisk(pagesLeft: Int) async throws {
        let place = Observed<String?>(nil)
        let story = try await unheard { request in
            guard request.method == "DELETE" else { return }
            // The program runs already, and where its disk is stands there within moments.
            while place.value == nil { sched_yield() }
            if let state = place.value { Self.fill(state + "/hog", leaving: pagesLeft) }
        }
        // Nothing else is written meanwhile.
        story.front.plan("GET", Array(repeating: .answered(503), count: 10))
        try story.front.reconnect()
        let state = story.client.state
        let program = RunningProgram.folder.appending(path: "reveille-client").path
        let running = try RunningProgram(
            "store-worker", ["within", state, "1m", program, "run", "--verbose", "--state", state])
        let within = "/proc/\(running.identifier)/root" + state
        place.update { $0 = within }
        do {
            try await Self.either(["reveille-client: unregistered", "no room"], from: running)
        } catch {
            guard running.output.contains("skipped ") else { throw error }
            try Test.cancel("needs the right to mount a tmpfs in a namespace of its own")
        }
        // Its disk ends with it: what lies there is saved first.
        running.signal(SIGSTOP)
        let saved = story.client.directory.path + "/saved"
        let copied = try await RunningProgram.run(path: "/bin/cp", ["-a", within, saved])
        #expect(copied.status == 0, "\(copied.output)")
        running.signal(SIGKILL)
        _ = await running.exit()
        try FileManager.default.removeItem(atPath: saved + "/hog")
        try FileManager.default.removeItem(atPath: state)
        if try Self.isForgotten(saved + "/client.db") {
            #expect(try story.client.files(containing: story.needles) == [])
        } else {
            // No room even for that much: it is asked for again.
            #expect(pagesLeft < 12)
        }
        try FileManager.default.moveItem(atPath: saved, toPath: state)
        _ = try await story.client.command("sync")
        #expect(try story.client.files(containing: story.needles) == [])
        #expect(try story.service.rows() == 0)
    }

    @Test("a device can be unregistered without a home directory")
    func homeless() async throws {
        let service = try await ServiceUnderTest()
        let client = try await ClientUnderTest(of: service)
        #expect(try await client.register(TestDevice()) == 0)
        #expect(try service.rows() == 1)
        let gone = try client.start(
            "unregister", environment: ["HOME": "", "XDG_DATA_HOME": ""])
        #expect(await gone.exit() == 0, "\(gone.output)")
        #expect(try service.rows() == 0)
    }

    /// Waits until the program has said one of these.
    private static func either(_ texts: [String], from program: RunningProgram) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for text in texts {
                group.addTask { _ = try await program.line(containing: text) }
            }
            try await group.next()
            group.cancelAll()
        }
    }

    /// Whether there is no wish in a copy of the database and its log.
    private static func isForgotten(_ path: String) throws -> Bool {
        let copy = try TemporaryDirectory()
        for suffix in ["", "-wal"] where FileManager.default.fileExists(atPath: path + suffix) {
            try FileManager.default.copyItem(
                atPath: path + suffix, toPath: copy.path + "/client.db" + suffix)
        }
        let database = try Database(path: copy.path + "/client.db", access: .readWrite)
        return try database.integer("SELECT count(*) FROM state WHERE key='registration'") == 0
    }

    /// Ends the back-off of the registration.
    private static func makeDue(_ database: Database) throws {
        try database.execute(
            """
            PRAGMA secure_delete=ON;
            UPDATE state SET value=json_set(value, '$.notBefore', 0) WHERE key='registration'
            """)
    }

    /// Takes all room there is but some pages.
    private static func fill(_ path: String, leaving pages: Int) {
        let file = unsafe open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        guard file >= 0 else { return }
        defer { close(file) }
        let zeros = [UInt8](repeating: 0, count: 4096)
        var total = 0
        while true {
            let count = unsafe zeros.withUnsafeBytes { unsafe write(file, $0.baseAddress, 4096) }
            guard count > 0 else { break }
            total += count
        }
        ftruncate(file, max(0, total - pages * 4096))
    }
}
