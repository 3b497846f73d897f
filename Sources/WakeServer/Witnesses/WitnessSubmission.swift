import Synchronization
package import WakeFeed
package import WakeFetch
package import WakePublish
import WakeSystem

/// The submission of one checkpoint to all witnesses of a policy, side by side (C2SP tlog-witness).
/// Blocks its thread; the answers come on the thread of the fetches.
package final class WitnessSubmission: Sendable {
    /// An answer, or the lack of one, for the terminal.
    package enum Outcome: Sendable, Equatable {
        case cosigned
        /// Cosigned, at a time that is so many seconds ahead of ours: one of the clocks is wrong.
        case clockDiffers(Int64)
        /// The next publish may succeed, or somebody has to mend something.
        case failed(String)
        case otherHistory(String)
    }

    /// The bounds of one publish.
    package struct Patience: Sendable {
        /// Of the whole.
        package var deadline = Duration.seconds(60)
        /// For the others, once there is a quorum.
        package var grace = Duration.seconds(3)
        /// Between two attempts after a failure of the line; doubled each time.
        package var pause = Duration.seconds(1)

        package init() {}
    }

    private struct Witness {
        var outcome: Outcome?
        var signature: NoteSignature?
        var failures = 0
        /// Asked a second time after a conflict: no third time.
        var hadConflict = false
        /// When to ask again, after a failure; monotonic nanoseconds.
        var retry: UInt64?
    }

    private static let attempts = 4
    private static let bodyLimit = 64 << 10

    private let policy: WitnessPolicy
    private let submission: CheckpointSubmission
    private let fetcher: Fetcher
    private let patience: Patience
    private let report: @Sendable (_ witness: String, Outcome) -> Void
    private let witnesses: Mutex<[Witness]>
    private let changed = Semaphore()

    private init(
        _ submission: CheckpointSubmission, _ policy: WitnessPolicy, _ fetcher: Fetcher,
        _ patience: Patience, _ report: @escaping @Sendable (String, Outcome) -> Void
    ) {
        self.submission = submission
        self.policy = policy
        self.fetcher = fetcher
        self.patience = patience
        self.report = report
        witnesses = Mutex(Array(repeating: Witness(), count: policy.witnesses.count))
    }

    /// An asker of the policy's witnesses, for a publisher.
    package static func collector(
        _ policy: WitnessPolicy, _ fetcher: Fetcher, patience: Patience = Patience(),
        report: @escaping @Sendable (_ witness: String, Outcome) -> Void
    ) -> WitnessCollector {
        { submission throws(FeedDirectoryError) in
            try WitnessSubmission(submission, policy, fetcher, patience, report).run()
        }
    }

    private func run() throws(FeedDirectoryError) -> [NoteSignature] {
        let reachable = WitnessFile.reachable(policy)
        let start = SystemClock.monotonicNanoseconds
        var deadline = start + patience.deadline.wholeNanoseconds
        for index in reachable { ask(index, from: submission.probableSize) }
        var hadQuorum = false
        while true {
            let now = SystemClock.monotonicNanoseconds
            let state = witnesses.withLock { $0 }
            let cosigned = Set(state.indices.filter { state[$0].signature != nil })
            if !hadQuorum, policy.isQuorum(cosigned) {
                hadQuorum = true
                deadline = min(deadline, now + patience.grace.wholeNanoseconds)
            }
            let isOver = reachable.allSatisfy { state[$0].outcome != nil }
            if isOver || now >= deadline {
                // One that holds another history, or says so, is reported and stops nothing alone.
                let isOther = state.contains {
                    if case .otherHistory = $0.outcome { true } else { false }
                }
                guard hadQuorum else { throw refusal(isOther ? .otherHistory : .noQuorum) }
                return state.compactMap(\.signature)
            }
            let due = reachable.filter { state[$0].retry.map { $0 <= now } ?? false }
            for index in due {
                witnesses.withLock { $0[index].retry = nil }
                ask(index, from: submission.probableSize)
            }
            let next = reachable.compactMap { state[$0].retry }.filter { $0 > now }.min()
            if due.isEmpty { changed.wait(until: min(deadline, next ?? deadline)) }
        }
    }

    private func refusal(_ kind: WitnessRefusal.Kind) -> FeedDirectoryError {
        let reasons = witnesses.withLock { witnesses in
            zip(policy.witnesses, witnesses).compactMap { witness, state -> String? in
                switch state.outcome {
                case .cosigned, .clockDiffers: nil
                case .failed(let reason), .otherHistory(let reason): "\(witness.label): \(reason)"
                case nil:
                    witness.url == nil
                        ? "\(witness.label): has no address" : "\(witness.label): no answer yet"
                }
            }
        }
        return .witnesses(WitnessRefusal(kind, reasons: reasons))
    }

    /// Asks a witness; the answer wakes `run`.
    private func ask(_ index: Int, from size: UInt64) {
        let request: AddCheckpointRequest?
        do throws(FeedDirectoryError) {
            request = try submission.request(from: size)
        } catch { return settle(index, .failed(error.message)) }
        guard let request else {
            return settle(index, .otherHistory("holds a larger log of this name, of size \(size)"))
        }
        guard let url = policy.witnesses[index].url.flatMap(WitnessFile.address) else {
            return settle(index, .failed("its address is none"))
        }
        let timeout = FetchTimeout(
            connect: .seconds(10), total: .seconds(20),
            throughput: .atLeast(bytesPerSecond: 128, over: .seconds(10)))
        fetcher.start(
            FetchRequest(
                url, method: .post, fields: [FetchField("content-type", "text/plain")],
                body: request.bytes, limit: Self.bodyLimit, timeout: timeout, purpose: .gateway)
        ) { [self] result in
            switch result {
            case .success(let (response, body)): answered(index, response.status, body)
            case .failure(let error): failed(index, error.reason)
            }
        }
    }

    private func answered(_ index: Int, _ status: Int, _ body: [UInt8]) {
        let size = submission.checkpoint.checkpoint.size
        switch status {
        case 200:
            let key = policy.witnesses[index].key
            let text = submission.checkpoint.note.text
            let signature = NoteSignature.lines(body)?.first { line in
                key.matches(line) && key.verify(line, of: text) != nil
            }
            guard let signature, let time = key.verify(signature, of: text)?.time else {
                return settle(index, .failed("answered without a signature of its key"))
            }
            witnesses.withLock { $0[index].signature = signature }
            let ahead = time.subtractingReportingOverflow(Int64(SystemClock.wallSeconds))
                .partialValue
            // Clients warn of cosignatures that are old; the operators can mend the clock.
            let isRight = abs(ahead) <= FeedLimits.clockToleranceSeconds
            settle(index, isRight ? .cosigned : .clockDiffers(ahead))
        case 409:
            guard let other = WitnessedSize(body) else {
                return settle(index, .failed("answered 409 without a size"))
            }
            let isFirst = witnesses.withLock { witnesses in
                defer { witnesses[index].hadConflict = true }
                return !witnesses[index].hadConflict
            }
            guard isFirst else {
                return settle(
                    index,
                    .failed(
                        "is at another size again, \(other.size) of \(size): is "
                            + "another publisher at work?"))
            }
            ask(index, from: other.size)
        case 422:
            settle(
                index,
                .otherHistory(
                    "answers 422: its tree of this log is not the beginning of "
                        + "this one"))
        case 404:
            settle(
                index,
                .failed(
                    "answers 404: it does not know this log; its operator has to add "
                        + "the log's key (`reveille feed key`)"))
        case 403:
            settle(
                index,
                .failed(
                    "answers 403: it knows another key for this log; its operator has "
                        + "to add the present one (`reveille feed key`)"))
        case 400: settle(index, .failed("answers 400: it does not understand the request"))
        case 408, 429, 500...599: failed(index, "answers \(status)")
        default: settle(index, .failed("answers \(status): is that a witness?"))
        }
    }

    /// A failure that may pass: asked again, a few times.
    private func failed(_ index: Int, _ reason: String) {
        let isLast = witnesses.withLock { witnesses in
            witnesses[index].failures += 1
            guard witnesses[index].failures < Self.attempts else { return true }
            let pause = patience.pause.wholeNanoseconds << UInt64(witnesses[index].failures - 1)
            witnesses[index].retry = SystemClock.monotonicNanoseconds + pause
            // Another size may be right by then.
            witnesses[index].hadConflict = false
            return false
        }
        if isLast { settle(index, .failed(reason)) } else { changed.post() }
    }

    private func settle(_ index: Int, _ outcome: Outcome) {
        witnesses.withLock { $0[index].outcome = outcome }
        report(policy.witnesses[index].label, outcome)
        changed.post()
    }
}
