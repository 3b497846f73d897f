import Synchronization
import TestSupport
import Testing
import WakeModel
import WakeSystem

@testable import WakePush

/// The time at which wake-ups expire, over a round of hours that takes no time.
@Suite("The template of a long round", .timeLimit(.minutes(1)))
struct TemplateRenewalTests {
    /// The request of APNs without its credentials.
    private struct Service: EngineService {
        let port: UInt16

        var service: PushService { .apns }
        var connections: Int { 1 }
        var tokens: FakeTokens { FakeTokens() }

        func engine(
            authorization: [UInt8], lifetime: Int, now: ClockReading
        ) -> EngineConfiguration {
            var endpoint = GatewayEndpoint(host: "127.0.0.1")
            (endpoint.port, endpoint.isPlain) = (port, true)
            let request = APNsRequest(
                endpoint, topic: "org.example.app", now: now.wall, lifetime: lifetime)
            return endpoint.engine(request.template(authorization: authorization))
        }

        static func append(_ token: Span<UInt8>, inOtherForm: Bool, to text: inout [UInt8]) {
            Hex.append(token, to: &text)
        }

        static var tokenBytes: Int { 64 }

        static func verdict(status: Int, body: Span<UInt8>) -> Verdict {
            APNsResponses.verdict(status: status, body: body)
        }
    }

    /// Milliseconds since the round began; the wall clock was at 1000 s then.
    private final class Clock: Sendable {
        private let passed = Mutex<UInt64>(0)

        var milliseconds: UInt64 { passed.withLock { $0 } }
        func set(_ milliseconds: UInt64) { passed.withLock { $0 = milliseconds } }

        var reading: ClockReading {
            let seconds = Int(milliseconds / 1000)
            return ClockReading(wall: 1000 + seconds, uptime: seconds, boot: [])
        }
    }

    /// Sends 20 wake-ups at each moment, in milliseconds, waits for their answers and returns the
    /// expiration that the wake-ups of the moment came with.
    private func expirations(lifetime: Int, at moments: [UInt64]) async throws -> [Int] {
        let server = try EngineServer()
        defer { server.stop() }
        let (clock, reports) = (Clock(), Observed<[GatewayReport]>([]))
        let service = Service(port: server.port)
        let session = DeliverySession(
            EngineDelivery(service),
            EngineTransport(service, lifetime: lifetime) { clock.reading },
            time: TimeSource(milliseconds: { clock.milliseconds }, random: { 0 }),
            report: { report in reports.update { $0.append(report) } })
        defer { session.cancel() }
        var all: [Int] = []
        for (index, moment) in moments.enumerated() {
            clock.set(moment)
            session.send(try WakeUp.numbered(20 * index..<20 * (index + 1)))
            try await reports.first { reports in
                SessionUnderTest.settled(reports).count == 20 * (index + 1) ? () : nil
            }
            let came = Set(server.expirations.dropFirst(20 * index).compactMap(\.self))
            #expect(came.count == 1 && server.expirations.count == 20 * (index + 1))
            all.append(came.first ?? 0)
        }
        #expect(server.connections == 1, "the engine is kept")
        #expect(SessionUnderTest.failure(reports.value) == nil)
        return all
    }

    @Test("every quarter of an hour the wake-ups expire later, on the connection that is open")
    func renewed() async throws {
        let minute: UInt64 = 60_000
        let expirations = try await expirations(
            lifetime: 7200,
            at: [0, 14 * minute, 15 * minute - 2000, 15 * minute, 29 * minute, 31 * minute]
                + [115 * minute, 125 * minute, 240 * minute])
        #expect(
            expirations.map { ($0 - 1000 - 7200) / 60 } == [0, 0, 0, 15, 15, 31, 115, 115, 240])
    }

    @Test("wake-ups that live shortly lose an eighth of it at most")
    func short() async throws {
        let expirations = try await expirations(
            lifetime: 600, at: [0, 73_000, 75_000, 148_000, 150_000])
        #expect(expirations == [1600, 1600, 1675, 1675, 1750])
    }
}
