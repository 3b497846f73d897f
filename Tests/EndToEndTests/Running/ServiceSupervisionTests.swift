import Foundation
import TestSupport
import Testing

@Suite("What a running service tells its service manager", .timeLimit(.minutes(5)))
struct ServiceSupervisionTests {
    @Test("ready, signs of life twice as often as they must come, and that it ends")
    func life() async throws {
        let socket = try NotifySocket()
        let began = ContinuousClock.now
        let service = try await ServiceUnderTest(
            environment: ["NOTIFY_SOCKET": socket.name, "WATCHDOG_USEC": "200000"])
        try await socket.wait(for: "WATCHDOG=1", times: 11)
        // Ten pauses of 100 ms, not fewer; a busy machine makes them longer.
        #expect(ContinuousClock.now - began >= .milliseconds(1000))
        #expect(socket.messages.first == "READY=1")
        #expect(await service.stop() == 0)
        try await socket.wait(for: "STOPPING=1")
        #expect(socket.messages.last == "STOPPING=1")
        let words = try Regex("(READY|STOPPING|WATCHDOG)=1")
        for message in socket.messages { #expect(message.wholeMatch(of: words) != nil) }
    }

    @Test("a stopped service gives no sign of life, and none is given that nobody asked for")
    func stopped() async throws {
        let socket = try NotifySocket(patience: .seconds(1))
        let service = try await ServiceUnderTest(
            environment: ["NOTIFY_SOCKET": socket.name, "WATCHDOG_USEC": "200000"])
        try await socket.wait(for: "WATCHDOG=1")
        service.program.signal(SIGSTOP)
        let silences = socket.messages.count { $0 == NotifySocket.silence }
        try await socket.wait(for: NotifySocket.silence, times: silences + 1)
        let signs = socket.messages.count { $0 == "WATCHDOG=1" }
        service.program.signal(SIGCONT)
        try await socket.wait(for: "WATCHDOG=1", times: signs + 2)
        #expect(await service.stop() == 0)
        let other = try NotifySocket()
        let unwatched = try await ServiceUnderTest(
            environment: [
                "NOTIFY_SOCKET": other.name, "WATCHDOG_USEC": "200000", "WATCHDOG_PID": "1",
            ])
        try await other.wait(for: "READY=1")
        #expect(await unwatched.stop() == 0)
        try await other.wait(for: "STOPPING=1")
        #expect(!other.messages.contains("WATCHDOG=1"))
    }
}
