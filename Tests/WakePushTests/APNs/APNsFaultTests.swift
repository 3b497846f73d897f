import Foundation
import Synchronization
import TestSupport
import Testing
import WakeSystem

@testable import WakePush

@Suite("APNs while the service goes wrong", .timeLimit(.minutes(5)))
struct APNsFaultTests {
    private static let count = 20_000

    /// Hands in again whatever is to be tried again, until everything was accepted.
    private final class Retrier: Sendable {
        private struct State {
            var engine: PushEngine?
            var accepted = 0
            var refused: [String] = []
            var waiter: CheckedContinuation<Void, Never>?
        }

        private let state = Mutex(State())

        var refused: [String] { state.withLock { $0.refused } }

        func start(_ engine: PushEngine, count: Int) async {
            await withCheckedContinuation { continuation in
                state.withLock { state in
                    state.engine = engine
                    state.waiter = continuation
                    Self.submit(Array(0..<count), &state)
                }
            }
            state.withLock { $0.engine = nil }
        }

        func take(_ outcomes: PushOutcomes) {
            state.withLock { state in
                var again: [Int] = []
                for result in outcomes.results {
                    let push = Int(result.reference)
                    switch result.outcome {
                    case .retry: again.append(push)
                    case .failed(let failure): state.refused.append("\(failure)")
                    case .answered(let status, _, let body):
                        let bytes = Array(outcomes.bytes(of: body))
                        switch APNsResponses.verdict(status: Int(status), body: bytes.span) {
                        case .delivery(.accepted): state.accepted += 1
                        case .delivery(.retry): again.append(push)
                        case let verdict: state.refused.append("\(verdict)")
                        }
                    }
                }
                if !again.isEmpty { Self.submit(again, &state) }
                if state.accepted == APNsFaultTests.count || !state.refused.isEmpty {
                    state.waiter?.resume()
                    state.waiter = nil
                }
            }
        }

        private static func submit(_ pushes: [Int], _ state: inout State) {
            var batch = PushBatch(capacity: pushes.count, tokenBytes: 64)
            for push in pushes {
                let digits = String(push, radix: 16)
                batch.append(
                    Array((String(repeating: "0", count: 64 - digits.count) + digits).utf8),
                    reference: UInt64(push))
            }
            #expect(state.engine?.submit(batch) == true)
        }
    }

    static let faults: [(flags: [String], mayDuplicate: Bool)] = [
        ([], false),
        (["--goaway-every", "2500"], false),
        (["--refuse-every", "50"], false),
        (["--answer", "10:429:TooManyRequests"], false),
        (["--answer", "10:503:ServiceUnavailable"], false),
        (["--reset-every", "500"], true),
        (["--streams-at", "3000:1", "--streams-at", "3100:1000"], false),
        (["--window", "31", "--huge-headers-every", "500", "--dynamic-headers", "yes"], false),
        (["--table-size", "0", "--latency", "5"], false),
    ]

    @Test("every token is delivered, twice only after a reset", arguments: faults)
    func delivered(_ flags: [String], _ mayDuplicate: Bool) async throws {
        let mock = try await MockPush(["--topic", "org.example.app"] + flags)
        let expiration = Int(Date.now.timeIntervalSince1970) + 7200
        let shape = RequestTemplate(
            scheme: "http", authority: "localhost", path: APNsRequest.path,
            fields: [
                .init("apns-topic", "org.example.app"), .init("apns-push-type", "background"),
                .init("apns-priority", "5"), .init("apns-expiration", "\(expiration)"),
            ],
            authorization: Array("bearer a.b.c".utf8), body: Array(APNsRequest.body.utf8))
        var configuration = EngineConfiguration(
            host: "127.0.0.1", port: UInt16(mock.port), transport: .plain, template: shape)
        configuration.reconnectMilliseconds = 10
        // No connection is silent, and no answer late, because a machine is busy.
        configuration.limits.answerMilliseconds = 600_000
        configuration.limits.silenceMilliseconds = 600_000
        let retrier = Retrier()
        let engine = try PushEngine(configuration) { retrier.take($0) }
        await retrier.start(engine, count: Self.count)
        #expect(retrier.refused == [])
        let report = try await mock.report()
        #expect(report.distinct == Self.count)
        #expect(report.violations == [:])
        if !mayDuplicate { #expect(report.duplicates == 0) }
        if !flags.isEmpty, flags[0].hasSuffix("-every") {
            #expect(report.faults.isEmpty == false)
        }
    }
}
