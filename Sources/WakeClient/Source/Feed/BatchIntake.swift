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

    private struct State: ~Copyable {
        var reader: BatchReader?
        /// nil once caching failed: matching goes on without.
        var part: OpenFile?
        var failure: FeedError?
        var isFull = false
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
        if let path {
            (part, mark) = PartFile.resume(path, feeding: &reader)
            // What is there proved wrong half-way: a reader that failed stays failed.
            if mark == 0 { reader = search.begin() }
        }
        resumeAt = UInt64(mark)
        state = Mutex(State(reader: reader, part: part))
    }

    /// Whether the answer is one to read on.
    func begin(_ response: FetchResponse) -> FetchVerdict {
        switch response.status {
        case 206 where resumeAt > 0 && response.contentRangeStart == resumeAt: return .proceed
        case 200 where resumeAt > 0:
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
            return .proceed
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
        let part = state.withLock { $0.part }
        return part.flatMap { try? $0.synchronize() } != nil
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
