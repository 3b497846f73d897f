private import Synchronization
package import WakeModel
import WakeSystem

/// A row of a page of a broadcast. Millions pass in seconds: no memory of its own.
package struct StoreRow: Sendable {
    package let identity: RowIdentity
    package let token: PushToken

    package init(identity: RowIdentity, token: PushToken) {
        (self.identity, self.token) = (identity, token)
    }

    package var id: [UInt8] { identity.id }
}

/// The id of a row, and the first bytes of its sealed column, which every renewal changes.
package struct RowIdentity: Sendable {
    private let idWords: InlineArray<4, UInt64>
    private let nonceWords: InlineArray<3, UInt64>

    /// - Parameters:
    ///   - id: 32 bytes.
    ///   - sealed: 24 or more.
    package init(id: Span<UInt8>, sealed: Span<UInt8>) {
        idWords = InlineArray { id.bigEndian(at: 8 * $0) }
        nonceWords = InlineArray { sealed.bigEndian(at: 8 * $0) }
    }

    package var id: [UInt8] { Self.bytes(idWords.span) }
    /// The first 32 bits of the id.
    package var idPrefix: UInt32 { UInt32(idWords[0] >> 32) }
    var nonce: [UInt8] { Self.bytes(nonceWords.span) }

    private static func bytes(_ words: Span<UInt64>) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(8 * words.count)
        for index in words.indices { bytes.append(bigEndian: words[index]) }
        return bytes
    }
}

/// Ids greater than one and not greater than another, 32 bytes each.
package struct IDRange: Sendable {
    /// Empty for the least id.
    package let after: [UInt8]
    package let through: [UInt8]

    package init(after: [UInt8], through: [UInt8]) {
        (self.after, self.through) = (after, through)
    }

    /// All ids, or those after one.
    static func all(after id: [UInt8] = []) -> IDRange {
        IDRange(after: id, through: [UInt8](repeating: .max, count: Limits.idBytes))
    }
}

/// A page of a broadcast.
package struct StorePage: Sendable {
    package let rows: [StoreRow]
    /// Ranges that were read to their ends.
    package let ranges: Int
    /// The last id that was read of the range after these; nil when all were read.
    package let last: [UInt8]?
}

/// Rows as they are stored, and the keys with which the caller opens them.
struct RawPage: Sendable {
    /// id ‖ sealed of each row, one after the other, as a page has hundreds.
    private(set) var bytes: [UInt8]
    /// Ranges that were read to their ends.
    let ranges: Int
    /// The last id read; nil when there are no more rows.
    let last: [UInt8]?
    let keys: GenerationKeys

    static let rowBytes = Limits.idBytes + Limits.sealedBytes
    var count: Int { bytes.count / Self.rowBytes }

    init(bytes: consuming [UInt8], ranges: Int, last: [UInt8]?, keys: GenerationKeys) {
        self.bytes = bytes
        (self.ranges, self.last, self.keys) = (ranges, last, keys)
    }

    /// Opens the rows, without those whose keys are others.
    func open() -> [StoreRow] {
        var rows: [StoreRow] = []
        rows.reserveCapacity(count)
        var secrets = SecretPool()
        keys.withSealingKey { key in
            forEachRow { id, sealed in
                guard let token = GenerationKeys.open(sealed, id: id, key: key, in: &secrets)
                else { return }
                let identity = RowIdentity(id: id, sealed: sealed)
                rows.append(StoreRow(identity: identity, token: token))
            }
        }
        return rows
    }

    /// Lends the rows as they are stored.
    private func forEachRow(_ body: (_ id: Span<UInt8>, _ sealed: Span<UInt8>) -> Void) {
        for start in stride(from: 0, to: bytes.count, by: Self.rowBytes) {
            let row = bytes.span.extracting(start..<start + Self.rowBytes)
            body(
                row.extracting(0..<Limits.idBytes),
                row.extracting(Limits.idBytes..<Self.rowBytes))
        }
    }

    /// Gives the memory back; the rows are gone.
    mutating func release(to memory: PageMemory) { memory.give(&bytes) }
}

/// Memory for the pages of a walk over the rows. A page is large: asking the system for the memory
/// of each costs as much as reading a part of it.
package final class PageMemory: Sendable {
    private let free = Mutex<[[UInt8]]>([])

    package init() {}

    /// An empty array, if there is one with room for a page.
    func take() -> [UInt8] { free.withLock { $0.popLast() } ?? [] }

    /// Keeps the memory of a page for another one, without its rows.
    func give(_ bytes: inout [UInt8]) {
        var empty: [UInt8] = []
        // Nobody else may have it: then it is not copied.
        swap(&empty, &bytes)
        empty.wipe()
        empty.removeAll(keepingCapacity: true)
        free.withLock { [empty] in $0.append(empty) }
    }
}
