private import WakeSodium

/// The second part of a batch: hashed, checked for order and searched in windows that fit into the
/// processor's cache, so that every byte is read from memory once.
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

    private var digestBytes: Int { header.count * header.width.rawValue }
    var remaining: Int { header.payloadBytes - received }

    init(header: BatchHeader, matcher: Matcher) {
        self.header = header
        scan = DigestScan(matcher: matcher)
    }

    /// - Parameter piece: the next bytes, cut anywhere.
    mutating func feed(_ piece: Span<UInt8>) throws(FeedError) {
        guard piece.count <= remaining else { throw .tooLarge }
        var start = 0
        while start < piece.count {
            let end = min(start + FeedLimits.windowBytes, piece.count)
            take(piece.extracting(start..<end))
            start = end
        }
    }

    private mutating func take(_ window: Span<UInt8>) {
        hash.update(window)
        let digests = min(window.count, max(0, digestBytes - received))
        if digests > 0 { scan.scan(window.extracting(0..<digests)) }
        if digests < window.count {
            keepNotes(
                window.extracting(digests..<window.count),
                from: received + digests - digestBytes)
        }
        received += window.count
    }

    /// Copies what belongs to hits out of a run of notes; both are in the digests' order.
    private mutating func keepNotes(_ bytes: Span<UInt8>, from start: Int) {
        while notes.count < scan.hits.count {
            let first = scan.hits[notes.count].index * header.noteBytes
            let wanted = first + partialNote.count..<first + header.noteBytes
            let present = wanted.clamped(to: start..<start + bytes.count)
            partialNote.append(
                bytes.extracting(present.lowerBound - start..<present.upperBound - start))
            guard partialNote.count == header.noteBytes else { return }
            notes.append(partialNote)
            partialNote = []
        }
    }

    /// - Returns: the hits, once everything came and is what the header says.
    func finish() throws(FeedError) -> [Hit] {
        guard remaining == 0 else { throw .truncated }
        // The hash before the order: damage on the way is then always named as what it is.
        guard hash.finish() == header.payloadHash else { throw .corruptBatch(.payloadHash) }
        guard scan.isAscending else { throw .corruptBatch(.order) }
        return scan.hits.enumerated().map { place, hit in
            Hit(secrets: hit.secrets, sealedNote: header.kind == .notes ? notes[place] : nil)
        }
    }
}
