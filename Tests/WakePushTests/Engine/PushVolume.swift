import Synchronization
import TestSupport

@testable import WakePush

/// Many pushes to distinct tokens, handed in again as a gateway does until each was accepted.
final class PushVolume: Sendable {
    /// What came of them so far.
    struct Tally: Sendable {
        var accepted = 0
        /// Handed in again: never seen by the service, and maybe seen.
        var safeRetries = 0
        var unsafeRetries = 0
        /// Answers by status.
        var answers: [UInt16: Int] = [:]
        /// Outcomes that no retry mends.
        var failures: [PushFailure] = []
    }

    private struct State {
        var engine: PushEngine?
        var submitted = 0
        var settled = 0
    }

    private let count: Int
    private let state = Mutex(State())
    private let tally = Observed(Tally())
    private static let batch = 2000
    /// Pushes under way at most.
    private static let ahead = 10_000

    init(_ count: Int) { self.count = count }

    /// Sends them all.
    /// - Throws: when the test's time is over first.
    func run(_ configuration: EngineConfiguration) async throws -> Tally {
        let engine = try PushEngine(configuration) { self.take($0) }
        state.withLock { state in
            state.engine = engine
            goOn(&state)
        }
        let count = count
        let end = try await tally.first { tally in
            tally.accepted == count || !tally.failures.isEmpty ? tally : nil
        }
        state.withLock { $0.engine = nil }
        engine.cancel()
        return end
    }

    /// Waits until so many were accepted.
    func accepted(_ number: Int) async throws {
        _ = try await tally.first { $0.accepted >= number ? number : nil }
    }

    private func take(_ outcomes: PushOutcomes) {
        var seen = Tally()
        state.withLock { state in
            var again: [Int] = []
            for result in outcomes.results {
                if Self.count(result.outcome, &seen) { again.append(Int(result.reference)) }
            }
            state.settled += outcomes.results.count - again.count
            if !again.isEmpty { Self.submit(again, &state) }
            goOn(&state)
        }
        tally.update { [seen] tally in
            tally.accepted += seen.accepted
            tally.safeRetries += seen.safeRetries
            tally.unsafeRetries += seen.unsafeRetries
            tally.answers.merge(seen.answers) { $0 + $1 }
            tally.failures += seen.failures
        }
    }

    /// - Returns: whether the push is to be handed in again.
    private static func count(_ outcome: PushOutcome, _ seen: inout Tally) -> Bool {
        switch outcome {
        case .answered(let status, _, _):
            seen.answers[status, default: 0] += 1
            if status == 200 { seen.accepted += 1 }
            return status == 429 || status == 503
        case .retry(let failure):
            if failure == .unknown { seen.unsafeRetries += 1 } else { seen.safeRetries += 1 }
            return true
        case .failed(let failure):
            seen.failures.append(failure)
            return false
        }
    }

    /// Hands in more, as long as few enough are under way.
    private func goOn(_ state: inout State) {
        while state.submitted < count, state.submitted - state.settled < Self.ahead {
            let end = min(count, state.submitted + Self.batch)
            Self.submit(Array(state.submitted..<end), &state)
            state.submitted = end
        }
    }

    private static func submit(_ numbers: [Int], _ state: inout State) {
        var batch = PushBatch(capacity: numbers.count, tokenBytes: 64)
        var token = [UInt8](repeating: UInt8(ascii: "0"), count: 64)
        for number in numbers {
            var rest = number
            for place in stride(from: 63, through: 56, by: -1) {
                let digit = UInt8(rest & 0xF)
                token[place] = digit + (digit < 10 ? 0x30 : 0x57)
                rest >>= 4
            }
            batch.append(token, reference: UInt64(number))
        }
        // An engine that takes no more leaves pushes without an outcome, and the test without end.
        _ = state.engine?.submit(batch)
    }
}
