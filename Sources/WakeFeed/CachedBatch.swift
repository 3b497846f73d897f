package import WakeFiles

/// A batch that was verified when it was fetched and kept since, to be searched again, without any
/// request, when a secret is added later.
///
/// Its signature and hash are not checked again: whoever can write into the cache can also write
/// into the state beside it. Searching is a binary search for each secret.
package struct CachedBatch: Sendable {
    package let header: BatchHeader
    private let file: MappedFile

    /// - Parameters:
    ///   - file: header and payload as they were fetched.
    ///   - feedID: the feed it must belong to.
    package init(_ file: MappedFile, feedID: FeedID) throws(FeedError) {
        let header = try file.withSpan { bytes throws(FeedError) in
            guard bytes.count >= FeedLimits.headerBytes else { throw FeedError.truncated }
            return try BatchHeader(signed: bytes.extracting(0..<FeedLimits.headerBytes))
        }
        guard header.feedID == feedID else { throw .wrongFeed }
        try header.checkSize()
        let count = file.count - FeedLimits.headerBytes
        guard count >= header.payloadBytes else { throw .truncated }
        guard count == header.payloadBytes else { throw .tooLarge }
        self.header = header
        self.file = file
    }

    /// What of these secrets was published in it.
    package func matches(of secrets: [LocalSecret]) -> [FeedMatch] {
        let matcher = Matcher(secrets: secrets, width: header.width, salt: header.salt)
        return file.withSpan { bytes in
            let payload = bytes.extracting(FeedLimits.headerBytes..<bytes.count)
            var matches: [FeedMatch] = []
            for (digest, secret) in matcher.entries {
                guard let index = index(of: digest, in: payload) else { continue }
                matches.append(
                    FeedMatch(
                        secret: secrets[secret], sealedNote: note(at: index, in: payload),
                        feedID: header.feedID, sequence: header.sequence))
            }
            return matches
        }
    }

    private func index(of digest: Digest, in payload: Span<UInt8>) -> Int? {
        let stride = header.width.rawValue
        var low = 0
        var high = header.count
        while low < high {
            let middle = (low + high) / 2
            let found = Digest(payload, at: middle * stride, width: header.width)
            if found == digest { return middle }
            if found < digest { low = middle + 1 } else { high = middle }
        }
        return nil
    }

    private func note(at index: Int, in payload: Span<UInt8>) -> [UInt8]? {
        guard header.kind == .notes else { return nil }
        let start = header.count * header.width.rawValue + index * header.noteBytes
        var note: [UInt8] = []
        note.append(payload.extracting(start..<start + header.noteBytes))
        return note
    }
}
