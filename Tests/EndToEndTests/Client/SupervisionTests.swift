import Foundation
import TestSupport
import Testing
import WakeSystem

@Suite("What a running client tells its service manager", .timeLimit(.minutes(5)))
struct SupervisionTests {
    private func start(
        _ client: ClientUnderTest, _ socket: NotifySocket, _ words: String...,
        watchdog: String? = nil, process: String? = nil
    ) throws -> RunningProgram {
        var environment = ["NOTIFY_SOCKET": socket.name]
        environment["WATCHDOG_USEC"] = watchdog
        environment["WATCHDOG_PID"] = process
        return try RunningProgram(
            "reveille-client", ["run", "--state", client.state] + words, environment: environment)
    }

    @Test("ready when it listens, then what it does, and that it ends", arguments: [false, true])
    func life(isAbstract: Bool) async throws {
        let service = try await ServiceUnderTest()
        let client = try await ClientUnderTest(of: service)
        let socket = try NotifySocket(isAbstract: isAbstract)
        let program = try start(client, socket)
        try await socket.wait(for: "STATUS=stream connected")
        // The profile is held: a second client is refused, and is never ready.
        #expect(socket.messages.first == "READY=1")
        let second = try NotifySocket()
        #expect(await (try start(client, second)).exit() == 75)
        #expect(!socket.messages.contains("STOPPING=1"))
        program.signal(SIGTERM)
        #expect(await program.exit() == 0)
        try await socket.wait(for: "STOPPING=1")
        #expect(second.messages == [])
        #expect(socket.messages.last == "STOPPING=1")
        #expect(socket.messages.count { $0 == "READY=1" } == 1)
        // Nobody asked for signs of life.
        #expect(!socket.messages.contains { $0.hasPrefix("WATCHDOG") })
        let words = try Regex("(READY|STOPPING)=1|STATUS=[a-z ,0-9:-]+")
        for message in socket.messages { #expect(message.wholeMatch(of: words) != nil) }
    }

    @Test("a client that cannot work with its profile is never ready")
    func refused() async throws {
        let site = try await FeedSite()
        let client = try await ClientUnderTest(feed: site.url, key: site.key)
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o755], ofItemAtPath: client.state)
        let socket = try NotifySocket()
        let program = try start(client, socket)
        #expect(await program.exit() == 78 || program.output.contains("open to others"))
        #expect(!socket.messages.contains("READY=1"))
    }

    @Test("signs of life come twice as often as they must, to whom they were asked of")
    func watchdog() async throws {
        let site = try await FeedSite()
        let client = try await ClientUnderTest(feed: site.url, key: site.key)
        let socket = try NotifySocket()
        let began = ContinuousClock.now
        let program = try start(client, socket, watchdog: "200000")
        try await socket.wait(for: "WATCHDOG=1", times: 11)
        // Ten pauses of 100 ms, not fewer; a busy machine makes them longer.
        #expect(ContinuousClock.now - began >= .milliseconds(1000))
        program.signal(SIGTERM)
        #expect(await program.exit() == 0)
        let other = try NotifySocket()
        let stranger = try self.start(client, other, watchdog: "200000", process: "1")
        try await other.wait(for: "STATUS=")
        stranger.signal(SIGTERM)
        #expect(await stranger.exit() == 0)
        try await other.wait(for: "STOPPING=1")
        #expect(!other.messages.contains("WATCHDOG=1"))
    }

    @Test("a wedged client gives no sign of life, and one that waits for the network does")
    func wedged() async throws {
        let site = try await FeedSite()
        let client = try await ClientUnderTest(feed: site.url, key: site.key)
        try await site.publish()
        let gate = DispatchSemaphore(value: 0)
        site.answer { _ in
            gate.wait()
            return .file
        }
        let socket = try NotifySocket(patience: .seconds(1))
        let program = try start(client, socket, watchdog: "200000")
        try await socket.wait(for: "STATUS=cycle began")
        let waited = socket.messages.count { $0 == "WATCHDOG=1" }
        try await socket.wait(for: "WATCHDOG=1", times: waited + 10)
        // Writing waits up to 5 s for somebody else's transaction (PRAGMA busy_timeout), and the
        // client's own queue with it.
        let database = try Database(path: client.state + "/client.db", access: .readWrite)
        try database.execute("BEGIN IMMEDIATE")
        let silences = socket.messages.count { $0 == NotifySocket.silence }
        for _ in 0..<2 { gate.signal() }
        try await socket.wait(for: NotifySocket.silence, times: silences + 1)
        let signs = socket.messages.count { $0 == "WATCHDOG=1" }
        try database.execute("COMMIT")
        try await socket.wait(for: "WATCHDOG=1", times: signs + 2)
        #expect(program.end == nil)
        program.signal(SIGTERM)
        #expect(await program.exit() == 0)
    }

    @Test("the program for a match cannot speak for the client")
    func children() async throws {
        let site = try await FeedSite()
        let client = try await ClientUnderTest(feed: site.url, key: site.key)
        try await site.publish(try await client.addSecret("visit"))
        let socket = try NotifySocket()
        let told = client.directory.path + "/told"
        let script = client.directory.path + "/on-match"
        try "#!/bin/sh\nenv > \(told).new && mv \(told).new \(told)\n".write(
            toFile: script, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: script)
        let program = try start(client, socket, "--on-match", script, watchdog: "60000000")
        try await client.settled()
        while !FileManager.default.fileExists(atPath: told) { try await client.settled() }
        program.signal(SIGTERM)
        #expect(await program.exit() == 0)
        let variables = try String(contentsOfFile: told, encoding: .utf8)
        #expect(variables.contains("REVEILLE_SECRET_ID=visit"))
        for name in ["NOTIFY_SOCKET", "WATCHDOG_USEC"] { #expect(!variables.contains(name)) }
    }
}
