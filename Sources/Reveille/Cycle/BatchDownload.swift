private import Glibc
import Synchronization
import WakeFeed
import WakeFetch
import WakeSystem

/// The download of one batch, on the fetch thread: verified and searched as it arrives, and kept in
/// a `.part` file. Memory is bounded by one chunk of at most 64 KiB and the reader's tables.
final class BatchDownload: Sendable {
    /// Fetches are continued from multiples of this many bytes.
    static let markBytes = 65_536
    /// Bytes that a batch can have.
    static let mostBytes = FeedLimits.headerBytes + FeedLimits.payloadBytes

    struct Progress: Sendable {
        var failure: FeedError?
        /// The disk was full, and the batch is not kept.
        var isFull = false
        var response: FetchResponse?
        /// Bytes of the body that were received.
        var received = 0
        /// The share was used up, or was known to be too small, before the batch came to its end.
        var isCut = false
        /// It was cut before anything came: nothing is there for another day.
        var isFruitless = false
    }

    fileprivate struct State: ~Copyable {
        var progress: Progress
        var reader: BatchReader?
        /// nil once caching failed: matching goes on without.
        var part: OpenFile?
        var share: DailyQuota.Share?
        /// Bytes from the first one asked for to the end of the batch, as the server says.
        var rest: UInt64?
    }

    private let search: BatchSearch
    private let state: Mutex<State>
    /// The offset at which the fetch continues; 0 for the start.
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
            // The kept bytes proved wrong half-way: a reader that failed stays failed.
            if mark == 0 { reader = search.begin() }
        }
        resumeAt = UInt64(mark)
        state = Mutex(State(progress: Progress(isFull: isFull), reader: reader, part: part))
    }

    var progress: Progress { state.withLock { $0.progress } }

    /// The header's bytes, as far as they came; empty after `finish`.
    var header: [UInt8] { state.withLock { $0.reader?.headerBytes ?? [] } }

    /// Received bytes are kept for another day.
    var isKept: Bool { state.withLock { $0.part != nil } }

    func limit(to share: DailyQuota.Share) { state.withLock { $0.share = share } }

    /// The bytes to ask for; nil for all. No server sends what the day's quota has no room for, not
    /// even into buffers on the way.
    var range: (first: UInt64, last: UInt64?)? {
        let share = state.withLock { $0.share }
        if let share, !share.isWholeAllowed, share.most > 0 {
            return (resumeAt, resumeAt + UInt64(share.most) - 1)
        }
        return resumeAt > 0 ? (resumeAt, nil) : nil
    }

    func begin(_ response: FetchResponse) -> FetchVerdict {
        state.withLock { $0.progress.response = response }
        let isRestart = response.status == 200 && resumeAt > 0
        if response.isSuccess {
            let isOpen = range?.last == nil
            let isAdmitted = state.withLock { state in
                state.rest = response.rest(isOpen: isOpen)
                return state.admits(state.rest, isRestart: isRestart)
            }
            guard isAdmitted else { return .stop }
        }
        switch response.status {
        case 206 where range != nil && response.contentRangeStart == resumeAt: return .proceed
        case 200 where isRestart:
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

    func append(_ bytes: Span<UInt8>) -> FetchVerdict {
        let bytes = Array(copying: bytes)
        return state.withLock { state in
            let bytes = state.count(bytes)
            do throws(FeedError) {
                try state.reader?.feed(bytes.span)
            } catch {
                state.progress.failure = error
                return .stop
            }
            do throws(FileError) {
                try state.part?.write(bytes.span)
            } catch {
                state.part = nil
                state.progress.isFull = error.isFull
            }
            return state.progress.isCut ? .stop : .proceed
        }
    }

    /// Records that all bytes came that were asked for, which may not be all that there are.
    func received() {
        state.withLock { state in
            let isPart = state.progress.response?.status == 206
            if isPart, let rest = state.rest, UInt64(state.progress.received) < rest {
                state.progress.isCut = true
            }
        }
    }

    /// Ends the batch; called once, after the fetch.
    func finish() throws(FeedError) -> CommittedBatch {
        let reader = state.withLock { state in state.reader.take() }
        guard let reader else { throw .truncated }
        return try reader.finish()
    }

    /// Makes the part file durable before it gets its name; true when it holds the whole batch.
    func synchronize() -> Bool {
        state.withLock { state in
            do throws(FileError) {
                guard let part = state.part else { return false }
                try part.synchronize()
                return true
            } catch {
                state.progress.isFull = error.isFull
                return false
            }
        }
    }
}

extension FetchResponse {
    /// Bytes from the first one sent to the end of the whole; nil when unknown. `isOpen`: all of
    /// them were asked for.
    fileprivate func rest(isOpen: Bool) -> UInt64? {
        guard status == 206, let start = contentRangeStart else { return contentLength }
        if let total = contentRangeTotal { return total - start }
        return isOpen ? contentLength : nil
    }
}

extension BatchDownload.State {
    fileprivate mutating func admits(_ length: UInt64?, isRestart: Bool) -> Bool {
        let isKept = part != nil
        if share?.admits(length, isRestart: isRestart, isKept: isKept) ?? true { return true }
        progress.isCut = true
        progress.isFruitless = true
        return false
    }

    /// - Returns: the bytes that are within the share.
    fileprivate mutating func count(_ bytes: [UInt8]) -> [UInt8] {
        let before = progress.received
        progress.received += bytes.count
        guard let share, !share.isWholeAllowed, progress.received > share.bytes else {
            return bytes
        }
        progress.isCut = true
        return Array(bytes.prefix(max(0, share.bytes - before)))
    }
}

/// The inputs of the verification and search of a batch.
struct BatchSearch: Sendable {
    let cursor: FeedCursor
    let head: VerifiedHead
    let secrets: LocalSecretSet
    let sequence: UInt64
    let hash: HeaderHash?

    func begin() -> sending BatchReader {
        BatchReader(cursor: cursor, head: head, secrets: secrets, sequence: sequence, hash: hash)
    }
}

/// The file with the bytes of a batch that did not arrive whole.
private enum PartFile {
    /// Opens the file, or makes it, feeds its whole marks to `reader`, and cuts off the rest.
    /// - Returns: the file to append to, nil when nothing can be kept, and the number of bytes fed.
    static func resume(
        _ path: String, feeding reader: inout BatchReader
    ) -> (file: OpenFile?, mark: Int, isFull: Bool) {
        do throws(FileError) {
            let file = try OpenFile(path, flags: O_RDWR | O_CREAT | O_APPEND)
            let size = try file.status().size
            var mark = size / BatchDownload.markBytes * BatchDownload.markBytes
            // Bytes that end a batch are of no use to a Range request: there must be a rest.
            if mark > BatchDownload.mostBytes { mark = 0 }
            if (try? reader.feed(file, upTo: mark)) != mark { mark = 0 }
            if let rest = reader.remainingBytes, rest == 0 { mark = 0 }
            try file.truncate(to: mark)
            return (file, mark, false)
        } catch {
            return (nil, 0, error.isFull)
        }
    }
}
