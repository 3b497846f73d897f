import Foundation
import TestSupport
import Testing

@Suite(
    "Notifications of the desktop",
    .enabled(if: MessageBus.isInstalled, MessageBus.missing),
    .enabled(if: PythonBusPeer.isInstalled, PythonBusPeer.missing), .timeLimit(.minutes(5)))
struct NotificationTests {
    /// A client with a secret called "visit" that was published with this note.
    private struct Story {
        let service: ServiceUnderTest
        let client: ClientUnderTest

        init(note: String) async throws {
            service = try await ServiceUnderTest()
            client = try await ClientUnderTest(of: service)
            let secret = try await client.addSecret("visit")
            _ = try await service.publish([secret], notes: [note])
        }

        func sync(
            _ words: String..., environment: [String: String]
        ) async throws -> (status: Int32, output: String) {
            let program = try RunningProgram(
                "reveille-client", ["sync"] + words + ["--state", client.state],
                environment: environment)
            return (await program.exit(), program.output)
        }
    }

    @Test("a match is shown once, with neither note nor name for a lock screen to show")
    func plain() async throws {
        let server = try await NotificationServer()
        let story = try await Story(note: "a private note")
        let answer = try await story.sync("--notify", environment: server.environment)
        #expect(answer.status == 10, "\(answer.output)")
        #expect(
            try await server.shown(atLeast: 1) == [
                .init(
                    app: "Reveille", replaces: 0, summary: "Reveille found a match",
                    body: "Something that was published matches a secret of yours.",
                    actions: [], urgency: 2, timeout: 0)
            ])
        #expect(try await story.client.status("matchesToDeliver") == "0")
        // It is told, and not again.
        let again = try await story.sync("--notify", environment: server.environment)
        #expect(again.status == 0)
        #expect(try await server.shown(atLeast: 1).count == 1)
    }

    @Test(
        "a note is shown only when asked for, and without markup or controls of its own",
        arguments: [true, false])
    func note(isMarkup: Bool) async throws {
        let server = try await NotificationServer(
            abilities: isMarkup ? ["body", "body-markup"] : ["body"])
        let note = "<b>Tü</b> & \"q\" \u{1B}[31m\u{202E}red\u{7F}"
        let story = try await Story(note: note)
        let answer = try await story.sync("--notify-note", environment: server.environment)
        #expect(answer.status == 10, "\(answer.output)")
        let escaped = "&lt;b&gt;Tü&lt;/b&gt; &amp; &quot;q&quot; [31mred"
        #expect(
            try await server.shown(atLeast: 1).map(\.body) == [
                isMarkup ? escaped : "<b>Tü</b> & \"q\" [31mred"
            ])
    }

    @Test("a server without bodies gets all of it in the summary, a note without text the name")
    func summary() async throws {
        let server = try await NotificationServer(abilities: [])
        let story = try await Story(note: "\u{7}\u{202E} ")
        let answer = try await story.sync("--notify-note", environment: server.environment)
        #expect(answer.status == 10, "\(answer.output)")
        #expect(
            try await server.shown(atLeast: 1).map(\.summary) == [
                "Reveille found a match: It matches the secret visit."
            ])
    }

    @Test(
        "a match that no server says it shows is not told, and waits",
        arguments: ["error", "zero", "text"])
    func refused(answer: String) async throws {
        let server = try await NotificationServer(answer: answer)
        let story = try await Story(note: "note")
        let told = try await story.sync("--notify", environment: server.environment)
        #expect(told.status == 74, "\(told.output)")
        #expect(!told.output.split(separator: "\n").contains { $0.hasPrefix("match ") })
        #expect(try await story.client.status("matchesToDeliver") == "1")
    }

    @Test("without a bus, or without a server on it, nothing is told")
    func missing() async throws {
        let bus = try await MessageBus()
        let addresses = [bus.address, "unix:path=\(bus.directory.path)/none", "tcp:host=a,port=1"]
        for address in addresses {
            let story = try await Story(note: "note")
            let told = try await story.sync(
                "--notify", environment: ["DBUS_SESSION_BUS_ADDRESS": address])
            #expect(told.status == 74, "\(told.output)")
            #expect(try await story.client.status("matchesToDeliver") == "1")
        }
    }

    @Test("with a program as well both must succeed, and each is tried")
    func both() async throws {
        let server = try await NotificationServer()
        for program in ["/bin/false", "/bin/true"] {
            let story = try await Story(note: "note")
            let told = try await story.sync(
                "--notify", "--on-match", program, environment: server.environment)
            let succeeds = program == "/bin/true"
            #expect(told.status == (succeeds ? 10 : 74), "\(told.output)")
            #expect(try await story.client.status("matchesToDeliver") == (succeeds ? "0" : "1"))
        }
        #expect(try await server.shown(atLeast: 2).count == 2)
        let silent = try await NotificationServer(answer: "error")
        let story = try await Story(note: "note")
        let mark = story.client.directory.path + "/ran"
        let told = try await story.sync(
            "--notify", "--on-match", "/bin/touch \(mark)", environment: silent.environment)
        #expect(told.status == 74 && FileManager.default.fileExists(atPath: mark))
        #expect(try await story.client.status("matchesToDeliver") == "1")
    }

    @Test("a warning is shown, once")
    func warning() async throws {
        let server = try await NotificationServer()
        let story = try await Story(note: "note")
        #expect(try await story.client.command("sync").status == 10)
        let state = story.client.state + "/client.db"
        for suffix in ["-wal", "-shm"] {
            try? FileManager.default.removeItem(atPath: state + suffix)
        }
        let file = try #require(FileHandle(forWritingAtPath: state))
        try file.write(contentsOf: [UInt8](repeating: 0x55, count: 8192))
        try file.close()
        for _ in 0..<2 {
            _ = try await story.sync("--notify", environment: server.environment)
        }
        let warnings = try await server.shown(atLeast: 1, urgency: 1)
        #expect(
            warnings.map(\.body) == [
                "the state was damaged and begun again; matches may be reported again"
            ])
        #expect(warnings.map(\.summary) == ["Reveille: a warning"])
    }
}
