import WakeBytes
private import WakeCrypto

/// A reader of a payload: hashes, decodes and searches it in windows that fit a processor's cache.
struct PayloadReader {
    /// A local digest, with its sealed note if the batch has notes.
    struct Hit: Sendable {
        let secrets: [Int]
        let sealedNote: [UInt8]?
    }

    private let header: BatchHeader
    private let hash = Blake2b()
    private var scan: DigestScan
    /// The sealed notes of the first hits, and the beginning of the next one's.
    private var notes: [[UInt8]] = []
    private var partialNote: [UInt8] = []
    private var received = 0

    var remaining: Int { header.payloadBytes - received }

    init(header: BatchHeader, matcher: Matcher) {
        self.header = header
        scan = DigestScan(matcher: matcher)
    }

    mutating func feed(_ chunk: Span<UInt8>) throws(FeedError) {
        guard chunk.count <= remaining else { throw .tooLarge }
        var start = 0
        while start < chunk.count {
            let end = min(start + FeedLimits.windowBytes, chunk.count)
            consume(chunk.extracting(start..<end))
            start = end
        }
    }

    private mutating func consume(_ window: Span<UInt8>) {
        hash.update(window)
        let code = min(window.count, max(0, header.codeBytes - received))
        if code > 0 { scan.scan(window.extracting(0..<code)) }
        if code < window.count {
            keepNotes(
                window.extracting(code..<window.count), from: received + code - header.codeBytes)
        }
        received += window.count
    }

    /// Copies the notes of hits; both are in the digests' order.
    private mutating func keepNotes(_ bytes: Span<UInt8>, from start: Int) {
        while notes.count < scan.hits.count {
            let first = scan.hits[notes.count].index * header.noteBytes
            let wanted = first + partialNote.count..<first + header.noteBytes
            let present = wanted.clamped(to: start..<start + bytes.count)
            partialNote.append(
                span: bytes.extracting(present.lowerBound - start..<present.upperBound - start))
            guard partialNote.count == header.noteBytes else { return }
            notes.append(partialNote)
            partialNote = []
        }
    }

    /// - Returns: the hits of a payload that is complete and as its header says.
    func finish() throws(FeedError) -> [Hit] {
        guard remaining == 0 else { throw .truncated }
        // The hash before the code, so that damage in transit always gets the same error.
        guard hash.finish() == header.payloadHash else { throw .corruptBatch(.payloadHash) }
        guard scan.isComplete else { throw .corruptBatch(.code) }
        return scan.hits.enumerated().map { index, hit in
            Hit(secrets: hit.secrets, sealedNote: header.kind == .notes ? notes[index] : nil)
        }
    }
}
