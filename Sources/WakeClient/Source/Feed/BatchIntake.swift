import Synchronization
import WakeFeed
import WakeFetch
import WakeFiles

/// Takes one batch as it arrives: verifies and searches it in one pass and keeps its bytes for
/// later, in a `.part` file that a broken fetch leaves behind. Runs on the fetch thread.
///
/// Memory is bounded by one piece of at most 64 KiB and the reader's tables.
final class BatchIntake: Sendable {
    /// Fetches are continued from multiples of this many bytes.
    static let markBytes = 65_536

    fileprivate struct State: ~Copyable {
        var reader: BatchReader?
        /// nil once caching failed: matching goes on without.
        var part: OpenFile?
        var failure: FeedError?
        var isFull = false
        var share: DataBudget.Share?
        var received = 0
        var isCut = false
        var isFruitless = false
    }

    private let search: BatchSearch
    private let state: Mutex<State>
    /// Where the fetch continues; 0 from the start.
    let resumeAt: UInt64

    /// - Parameter path: of the `.part` file; nil keeps nothing.
    init(path: String?, search: BatchSearch) {
        self.search = search
        var reader = search.begin()
        var part: OpenFile?
        var mark = 0
        var isFull = false
        if let path {
            (part, mark, isFull) = PartFile.resume(path, feeding: &reader)
            // What is there proved wrong half-way: a reader that failed stays failed.
            if mark == 0 { reader = search.begin() }
        }
        resumeAt = UInt64(mark)
        state = Mutex(State(reader: reader, part: part, isFull: isFull))
    }

    /// Whether what comes is kept for another day.
    var isKept: Bool { state.withLock { $0.part != nil } }

    /// Takes so much and no more, before the fetch.
    func limit(to share: DataBudget.Share) {
        state.withLock { $0.share = share }
    }

    /// Bytes of the body that came, whatever became of them.
    var received: Int { state.withLock { $0.received } }

    /// The share was used up, or was known to be too small, before the batch came to its end.
    var isCut: Bool { state.withLock { $0.isCut } }

    /// It was cut, and what came is of no use another day.
    var isFruitless: Bool { state.withLock { $0.isCut && ($0.isFruitless || $0.part == nil) } }

    /// Whether the answer is one to read on.
    func begin(_ response: FetchResponse) -> FetchVerdict {
        let isAnew = response.status == 200 && resumeAt > 0
        if response.isSuccess {
            let length = response.contentLength
            guard state.withLock({ $0.admits(length, isAnew: isAnew) }) else { return .stop }
        }
        switch response.status {
        case 206 where resumeAt > 0 && response.contentRangeStart == resumeAt: return .proceed
        case 200 where isAnew:
            // RFC 9110 §14.2: a server may ignore Range and send everything.
            restart()
            return .proceed
        case 200: return .proceed
        default: return .stop
        }
    }

    private func restart() {
        let search = search
        state.withLock { state in
            state.reader = search.begin()
            do throws(FileError) {
                try state.part?.truncate(to: 0)
            } catch {
                state.part = nil
            }
        }
    }

    /// Takes the next piece.
    func take(_ piece: Span<UInt8>) -> FetchVerdict {
        // A closure cannot capture a span.
        let bytes = Array(copying: piece)
        return state.withLock { state in
            let bytes = state.count(bytes)
            do throws(FeedError) {
                try state.reader?.feed(bytes.span)
            } catch {
                state.failure = error
                return .stop
            }
            do throws(FileError) {
                try state.part?.write(bytes.span)
            } catch {
                state.part = nil
                state.isFull = error.isFull
            }
            return state.isCut ? .stop : .proceed
        }
    }

    /// Why the batch was refused, if it was.
    var failure: FeedError? { state.withLock { $0.failure } }

    /// The disk was full, and the batch is not kept.
    var isFull: Bool { state.withLock { $0.isFull } }

    /// Ends the batch; called once, after the fetch.
    func finish() throws(FeedError) -> CommittedBatch {
        let reader = state.withLock { state in state.reader.take() }
        guard let reader else { throw .truncated }
        return try reader.finish()
    }

    /// Makes the part file durable before it gets its name: later it is searched as it is.
    /// - Returns: whether it holds the whole batch.
    func synchronize() -> Bool {
        state.withLock { state in
            do throws(FileError) {
                guard let part = state.part else { return false }
                try part.synchronize()
                return true
            } catch {
                state.isFull = error.isFull
                return false
            }
        }
    }
}

extension BatchIntake.State {
    /// A fetch that would leave nothing for another day is not begun unless it is known to fit.
    fileprivate mutating func admits(_ length: UInt64?, isAnew: Bool) -> Bool {
        guard var share else { return true }
        if isAnew, share.isWholeAllowedAnew {
            share.isWholeAllowed = true
            self.share = share
        }
        guard !share.isWholeAllowed else { return true }
        if let length, length <= UInt64(share.most) {
            self.share?.bytes = share.most
            return true
        }
        guard isAnew || part == nil else { return true }
        isCut = true
        isFruitless = true
        return false
    }

    /// - Returns: what of the piece is within the share.
    fileprivate mutating func count(_ piece: [UInt8]) -> [UInt8] {
        let before = received
        received += piece.count
        guard let share, !share.isWholeAllowed, received > share.bytes else { return piece }
        isCut = true
        return Array(piece.prefix(max(0, share.bytes - before)))
    }
}

/// What the next batch is verified and searched with.
struct BatchSearch: Sendable {
    let cursor: FeedCursor
    let head: VerifiedHead
    let secrets: LocalSecretSet

    func begin() -> sending BatchReader {
        BatchReader(cursor: cursor, head: head, secrets: secrets)
    }
}

extension Array where Element == UInt8 {
    /// Without a look at the array's capacity for each byte, so that many are copied at once.
    init(copying span: Span<UInt8>) {
        self.init(capacity: span.count) { bytes in
            for index in span.indices { bytes.append(span[index]) }
        }
    }
}
