import Foundation
import TestSupport
import Testing

/// Whoever reads the log may stop reading it: a journal that hangs, a terminal that was stopped.
@Suite(
    "A log that nobody reads",
    .enabled(if: InstalledPrograms.path("bash") != nil, "needs bash"), .timeLimit(.minutes(5)))
struct UnreadLogTests {
    /// Serves with a reader that shows the first lines and then keeps the pipe open, unread.
    private static let script = """
        exec "$@" 2> >(head -n 1; exec tail --pid=$$ -f /dev/null >/dev/null 2>&1)
        """

    @Test("holds up no request, no command and not the end, however much there is to say")
    func unread() async throws {
        let service = try await ServiceUnderTest(
            listen: "unix:http.sock", sections: "[relay]\nauthority = relay.example.org\n")
        #expect(await service.stop() == 0)
        let program = try RunningProgram(
            path: "/usr/bin/env",
            [
                "bash", "-c", Self.script, "bash",
                RunningProgram.folder.appending(path: "reveille").path, "serve", "--config",
                service.configuration,
            ])
        _ = try await program.line(containing: "store-opened")
        // Where it listens is no line that is shown, but a file.
        var connected: LoopbackClient?
        while connected == nil {
            try Task.checkCancellation()
            connected = try? LoopbackClient(path: service.directory.path + "/service/http.sock")
            await Task.yield()
        }
        let client = try #require(connected)
        let body = Array("{}".utf8)
        for _ in 0..<10_000 {
            let answer = try client.exchange("POST", "/v1/relay/wakes", body: body)
            #expect(answer.status == 401)
        }
        let device = TestDevice()
        let put = try client.exchange(
            "PUT", "/v1/registration", token: device.token, body: device.body)
        #expect(put.status == 204)
        let status = try await service.command("status")
        #expect(status.status == 0, "\(status.output)")
        program.signal(SIGTERM)
        #expect(await program.exit() == 0)
    }
}
