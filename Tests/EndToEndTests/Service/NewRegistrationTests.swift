import Foundation
import Synchronization
import TestSupport
import Testing

@Suite("A flood of new registrations", .timeLimit(.minutes(5)))
struct NewRegistrationTests {
    /// Registers new devices on connections of its own until it is stopped.
    private final class Flood: Sendable {
        private let isStopped = Atomic(false)
        private let counts = Mutex<[Int: Int]>([:])
        private let threads = DispatchGroup()

        /// Answers by status.
        var answers: [Int: Int] { counts.withLock { $0 } }

        init(port: UInt16, connections: Int) {
            for _ in 0..<connections {
                Thread.detachNewThread { [self, threads] in
                    threads.enter()
                    defer { threads.leave() }
                    guard let client = try? LoopbackClient(port: port) else { return }
                    while !isStopped.load(ordering: .relaxed) {
                        guard let status = try? NewRegistrationTests.put(TestDevice(), client)
                        else { return }
                        counts.withLock { $0[status, default: 0] += 1 }
                    }
                }
            }
        }

        func stop() { isStopped.store(true, ordering: .relaxed) }
    }

    private static func put(_ device: TestDevice, _ client: LoopbackClient) throws -> Int {
        try client.exchange(
            "PUT", "/v1/registration", token: device.token, body: device.body
        ).status
    }

    @Test("keeps nobody out who does the work, and nobody who was there before waits")
    func flooded() async throws {
        let service = try await ServiceUnderTest(sections: "\n[registration]\nnew-per-day = 100\n")
        let earlier = (0..<50).map { _ in TestDevice() }
        let client = try LoopbackClient(port: service.port)
        for device in earlier { #expect(try Self.put(device, client) == 204) }
        let flood = Flood(port: service.port, connections: 20)
        defer { flood.stop() }
        // The day's worth is used up.
        var isRefused = false
        while !isRefused {
            isRefused = try Self.put(TestDevice(), client) == 429
        }
        let newcomer = try await ClientUnderTest(of: service)
        let device = TestDevice()
        #expect(try await newcomer.register(device) == 0)
        #expect(try await newcomer.status("registration") == "\"registered\"")
        // The long form is `Tests/Bench flood`.
        for _ in 0..<3 {
            #expect(try await service.command("rotate", "--now", "--yes").status == 0)
            for device in earlier { #expect(try Self.put(device, client) == 204) }
        }
        #expect(
            try client.exchange("DELETE", "/v1/registration", token: earlier[0].token).status == 204
        )
        let again = try Self.put(earlier[0], client)
        #expect(again == 429, "what was deleted is new")
        flood.stop()
        let answers = flood.answers
        #expect(Set(answers.keys) == [204, 429] && answers[204, default: 0] <= 51)
        let status = try await service.command("status", "--json")
        let text = try ServiceUnderTest.word(after: "\"registers_challenged\":", in: status.output)
        #expect(Int(text.prefix { $0.isNumber }) ?? 0 > answers[429, default: 0])
        #expect(await service.stop() == 0)
    }

    @Test("from 64 prefixes: each gets what is free, all together no more, and others are let in")
    func prefixes() async throws {
        let service = try await ServiceUnderTest(
            extra: "proxy-protocol = on", sections: "\n[registration]\nnew-per-prefix = 3\n")
        /// The answers to five new registrations over one connection.
        func answers(from address: [UInt8]) throws -> [Int] {
            let client = try LoopbackClient(port: service.port)
            let block = address + [127, 0, 0, 1, 0x30, 0x39, 0x01, 0xBB]
            let signature: [UInt8] = [
                0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A,
            ]
            try client.send(signature + [0x21, 0x11, 0, 12] + block)
            return try (0..<5).map { _ in try Self.put(TestDevice(), client) }
        }
        var free = 0
        for network in 0..<64 as Range<UInt8> {
            for host in 1...2 as ClosedRange<UInt8> {
                free += try answers(from: [192, 0, network, host]).count { $0 == 204 }
            }
        }
        // Two prefixes may share a place of the table.
        #expect(free <= 64 * 3 && free > 60 * 3)
        let others = try (0..<4 as Range<UInt8>).map { try answers(from: [198, 51, $0, 1])[0] }
        #expect(others.contains(204))
        #expect(await service.stop() == 0)
    }
}
