import Foundation
import TestSupport
import Testing

@Suite("A desktop app around its main loop", .timeLimit(.minutes(5)))
struct DesktopTests {
    /// A running app and the hand at its buttons.
    private struct App {
        let program: RunningProgram
        let buttons: FileHandle

        func press(_ button: String) { buttons.write(Data((button + "\n").utf8)) }

        func quit() async -> Int32 {
            press("quit")
            return await program.exit()
        }
    }

    /// The app, its service and what it keeps.
    private struct Desk {
        let service: ServiceUnderTest
        let directory: TemporaryDirectory

        init() async throws {
            service = try await ServiceUnderTest()
            directory = try TemporaryDirectory()
        }

        func start() async throws -> App {
            let pipe = directory.path + "/buttons-\(UUID().uuidString)"
            let made = try await RunningProgram.run(path: "/usr/bin/mkfifo", [pipe])
            guard made.status == 0 else { throw TestFailure(made.output) }
            let program = RunningProgram.folder.appending(path: "example-desktop").path
            let running = try RunningProgram(
                path: "/bin/sh",
                [
                    "-c", "exec \"$@\" < '\(pipe)'", "sh", program, service.url + "/feed/",
                    service.feedKey, service.url, directory.path,
                ])
            // Read as well, so that opening waits for nobody.
            guard let buttons = FileHandle(forUpdatingAtPath: pipe) else {
                throw TestFailure("no pipe")
            }
            return App(program: running, buttons: buttons)
        }

        func publish(_ secret: String, note: String) async throws {
            let line = Array(secret.utf8).map { byte in
                let digits = String(byte, radix: 16)
                return digits.count == 1 ? "0" + digits : digits
            }.joined()
            let notes = directory.path + "/notes-\(UUID().uuidString)"
            try (note + "\n").write(toFile: notes, atomically: true, encoding: .utf8)
            let published = try await service.command(
                "feed", "publish", "-", "--secrets", "--note-file", notes, "--then-broadcast",
                input: Array((line + "\n").utf8))
            guard published.status == 0 else { throw TestFailure(published.output) }
        }
    }

    @Test("it shows matches and status, and what it showed is there after a kill")
    func restart() async throws {
        let desk = try await Desk()
        let first = try await desk.start()
        first.press("add visit a secret of this device")
        _ = try await first.program.line(containing: "status: listening")
        try await desk.publish("a secret of this device", note: "see a doctor")
        let notice = try await first.program.line(containing: "visit: see a doctor")
        first.program.signal(SIGKILL)
        _ = await first.program.exit()
        let second = try await desk.start()
        #expect(try await second.program.line(containing: "notice") == notice)
        _ = try await second.program.line(containing: "status: listening, checked, batch")
        second.press("dismiss \(notice.split(separator: " ")[1])")
        second.press("check")
        #expect(await second.quit() == 0)
        let third = try await desk.start()
        _ = try await third.program.line(containing: "status: listening, checked, batch")
        #expect(await third.quit() == 0)
        #expect(!third.program.output.contains("notice"))
        let lines = second.program.output.split(separator: "\n")
        #expect(lines.count { $0.hasPrefix("notice") } == 1)
    }

    @Test("a button that cannot work says why, in words")
    func faults() async throws {
        let desk = try await Desk()
        let app = try await desk.start()
        app.press("add visit short")
        let line = try await app.program.line(containing: "failed")
        #expect(line == "failed: A secret has 16 to 1024 bytes.")
        #expect(await app.quit() == 0)
    }
}
