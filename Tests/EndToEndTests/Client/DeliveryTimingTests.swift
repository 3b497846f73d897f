import Foundation
import TestSupport
import Testing
import WakeSystem

/// A program for `--on-match` that starts, says so, and ends only when it is released.
private final class BlockedProgram: Sendable {
    let path: String
    private let release: FileHandle
    private let started: FileHandle

    init(in directory: TemporaryDirectory) throws {
        path = directory.path + "/blocked"
        let pipes = ["started", "release"].map { directory.path + "/" + $0 }
        let script = """
            #!/bin/sh
            echo started 1<>'\(pipes[0])'
            read line <'\(pipes[1])'
            """
        try script.write(toFile: path, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: path)
        let handles = try pipes.map { pipe in
            guard unsafe mkfifo(pipe, 0o600) == 0 else { throw TestFailure("errno \(errno)") }
            // Opened so, a FIFO waits for nobody (fifo(7)).
            return FileHandle(
                fileDescriptor: unsafe open(pipe, O_RDWR | O_CLOEXEC), closeOnDealloc: true)
        }
        (started, release) = (handles[0], handles[1])
    }

    /// Returns when the program runs.
    func waitForStart() async {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread { [started] in
                _ = started.availableData
                continuation.resume()
            }
        }
    }

    func end() throws { try release.write(contentsOf: Data("go\n".utf8)) }
}

/// Who sees the line must not learn from times whether there was a match.
@Suite("Times on the line do not depend on a match", .timeLimit(.minutes(3)))
struct DeliveryTimingTests {
    private struct Story {
        let service: ServiceUnderTest
        let front: FaultyFront
        let client: ClientUnderTest
        let program: BlockedProgram

        init(isMatching: Bool = true) async throws {
            service = try await ServiceUnderTest()
            front = try FaultyFront(to: service.port)
            client = try await ClientUnderTest(of: service, at: front.url)
            program = try BlockedProgram(in: client.directory)
            let secret = try await client.addSecret("visit")
            _ = try await service.publish(
                [isMatching ? secret : TestDevice().pushText], notes: ["note"])
        }
    }

    @Test(
        "sync closes its connection as late without a match as with one", arguments: [false, true])
    func sameLinger(isMatching: Bool) async throws {
        let story = try await Story(isMatching: isMatching)
        #expect(try await story.client.command("sync").status == (isMatching ? 10 : 0))
        let linger = try #require(try await story.front.lingers(atLeast: 1).last)
        // Half a second: a machine under load can only make it longer.
        #expect(linger > .milliseconds(450), "\(linger)")
    }

    @Test("a registration that is due is sent while the program of a match still runs")
    func registers() async throws {
        let story = try await Story()
        story.front.plan("PUT", [.answered(500)])
        #expect(try await story.client.register(TestDevice()) != 0)
        try Database(path: story.client.state + "/client.db", access: .readWrite)
            .execute(
                "UPDATE state SET value=json_set(value, '$.notBefore', 0) WHERE key='registration'")
        let sync = try story.client.start("sync", "--on-match", story.program.path)
        try await story.front.requests("PUT", atLeast: 2)
        await story.program.waitForStart()
        try story.program.end()
        #expect(await sync.exit() == 10)
        #expect(try story.service.rows() == 1)
    }

    @Test("while a registration waits for its time, sync keeps the profile from nobody")
    func sharesProfile() async throws {
        let story = try await Story()
        #expect(try await story.client.register(TestDevice()) == 0)
        // Nobody asks for it: it is apart from the check by up to ten minutes.
        try Database(path: story.client.state + "/client.db", access: .readWrite)
            .execute(
                "UPDATE state SET value=json_set(value, '$.notBefore', 0) WHERE key='registration'")
        let sync = try story.client.start("sync")
        _ = try await sync.line(containing: "a registration is due")
        // The check holds the profile until its match is delivered.
        var planted = try await story.client.command("test")
        while planted.status == 75 { planted = try await story.client.command("test") }
        #expect(planted.status == 0, "\(planted.output)")
        let running = try await story.client.listen()
        running.signal(SIGTERM)
        #expect(await running.exit() == 0)
        #expect(try await story.client.command("unregister").status == 0)
        #expect(try story.service.rows() == 0)
        #expect(sync.end == nil, "sync has ended: \(sync.output)")
        #expect(story.front.requests.count { $0.method == "PUT" } == 1)
    }

    @Test("run answers, is woken and fetches while the program of a match still runs")
    func runs() async throws {
        let story = try await Story()
        let running = try await story.client.listen("--on-match", story.program.path)
        await story.program.waitForStart()
        let before = story.front.requests.count
        _ = try await story.service.publish(
            [TestDevice().pushText], notes: [], "--then-broadcast")
        try await story.front.requests("GET", atLeast: before + 2)
        #expect(try await story.client.status("running") == "true")
        #expect(try await story.client.status("matchesToDeliver") == "1")
        try story.program.end()
        running.signal(SIGTERM)
        #expect(await running.exit() == 0)
    }

    @Test("a program that is not there: run does not begin, sync says that a match waits")
    func missing() async throws {
        let story = try await Story()
        for option in ["--on-match", "--on-warning"] {
            let refused = try await story.client.command("run", option, "/no/such/program")
            #expect(refused.status == 78, "\(refused.output)")
            #expect(
                refused.output.contains(
                    "the program of \(option) cannot be executed: /no/such/program: "
                        + "No such file or directory"))
        }
        let answer = try await story.client.command(
            "sync", "--json", "--on-match", "/no/such/program")
        #expect(answer.status == 74, "\(answer.output)")
        #expect(answer.output.contains("\"outcome\":\"checked\""))
        #expect(answer.output.contains("\"matches\":[],\"undelivered\":1}"))
        // Nothing new is published, and it waits all the same: also offline, where it is reported.
        let again = try await story.client.command("sync", "--on-match", "/bin/false")
        #expect(again.status == 74 && again.output.contains("could not be reported"))
        story.front.disconnect()
        let offline = try await story.client.command("sync", "--json")
        #expect(offline.status == 10, "\(offline.output)")
        #expect(offline.output.contains("\"outcome\":\"failed\",\"failure\":\"network\""))
        #expect(offline.output.contains("\"undelivered\":0}"))
    }
}
