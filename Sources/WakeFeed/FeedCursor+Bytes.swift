private import WakeModel

extension FeedCursor {
    private static let magic: StaticString = "WAKECU01"
    /// Everything before the keys, bytes.
    private static let fixedBytes = 8 + 16 + 8 + 1 + 32 + 1 + 8 + 6 * 4 + 1
    private static let keyBytes = 32 + 8 + 1

    /// The cursor as one run of bytes, to be stored as it is.
    public func encode() -> [UInt8] {
        var bytes = Self.magic.bytes
        bytes.reserveCapacity(Self.fixedBytes + keys.count * Self.keyBytes)
        bytes += feedID.bytes
        bytes.append(littleEndian: sequence)
        bytes.append(headerHash == nil ? 0 : 1)
        bytes += (headerHash ?? .none).bytes
        bytes.append(newestIssued == nil ? 0 : 1)
        bytes.append(littleEndian: UInt64(newestIssued ?? 0))
        bytes.append(littleEndian: settings.pollSeconds)
        bytes.append(littleEndian: settings.spreadSeconds)
        bytes.append(littleEndian: settings.flags.rawValue)
        bytes.append(littleEndian: settings.pauseSeconds)
        bytes.append(littleEndian: settings.minimumClientVersion)
        bytes.append(littleEndian: settings.cacheSeconds)
        bytes.append(UInt8(keys.count))
        for accepted in keys {
            bytes += accepted.key.bytes
            bytes.append(littleEndian: accepted.from)
            bytes.append(accepted.isPending ? 1 : 0)
        }
        return bytes
    }

    /// - Parameter bytes: what `encode` made.
    /// - Returns: nil for anything else.
    public init?(decoding bytes: [UInt8]) {
        let span = bytes.span
        guard span.count > Self.fixedBytes,
            span.extracting(0..<8).isEqual(to: Self.magic.bytes),
            span.count == Self.fixedBytes + Int(span[Self.fixedBytes - 1]) * Self.keyBytes,
            let headerHash = Self.optional(span, at: 32, count: 32),
            let issued = Self.optional(span, at: 65, count: 8)
        else { return nil }
        var newestIssued: Int64?
        if let issued {
            guard let time = Int64(exactly: issued.span.littleEndian(at: 0, as: UInt64.self))
            else { return nil }
            newestIssued = time
        }
        let sequence: UInt64 = span.littleEndian(at: 24)
        guard sequence < UInt64(Int64.max), let keys = Self.keys(in: span) else { return nil }
        self.init(
            feedID: FeedID(span.extracting(8..<24)), sequence: sequence,
            headerHash: headerHash.map { HeaderHash($0.span) }, newestIssued: newestIssued,
            settings: FeedSettings(
                pollSeconds: span.littleEndian(at: 74), spreadSeconds: span.littleEndian(at: 78),
                flags: FeedFlags(rawValue: span.littleEndian(at: 82)),
                pauseSeconds: span.littleEndian(at: 86),
                minimumClientVersion: span.littleEndian(at: 90),
                cacheSeconds: span.littleEndian(at: 94)),
            keys: keys)
    }

    /// A byte that says whether the bytes after it count; they are zero when they do not.
    /// - Returns: nil when that byte or those zeros are something else.
    private static func optional(_ span: Span<UInt8>, at offset: Int, count: Int) -> [UInt8]?? {
        let range = offset + 1..<offset + 1 + count
        switch span[offset] {
        case 0: return span.isZero(range) ? .some(nil) : nil
        case 1: return span.extracting(range).array
        default: return nil
        }
    }

    private static func keys(in span: Span<UInt8>) -> [AcceptedKey]? {
        let count = Int(span[fixedBytes - 1])
        guard (1...FeedLimits.acceptedKeys).contains(count) else { return nil }
        var keys: [AcceptedKey] = []
        for offset in stride(from: fixedBytes, to: span.count, by: keyBytes) {
            guard let key = FeedKey(bytes: span.extracting(offset..<offset + 32).array),
                span[offset + 40] <= 1
            else { return nil }
            keys.append(
                AcceptedKey(
                    key: key, from: span.littleEndian(at: offset + 32),
                    isPending: span[offset + 40] == 1))
        }
        return keys
    }
}
