private import Synchronization
import WakeModel
import WakeSystem

/// Rows as they are stored, and the keys with which the caller opens them.
struct RawPage: Sendable {
    /// id ‖ sealed of each row, one after the other, as a page has hundreds.
    private(set) var bytes: [UInt8]
    /// The last id read; nil when there are no more rows.
    let last: [UInt8]?
    let keys: GenerationKeys

    /// The greatest id.
    static let lastID = [UInt8](repeating: .max, count: Limits.idBytes)
    static let rowBytes = Limits.idBytes + Limits.sealedBytes
    var count: Int { bytes.count / Self.rowBytes }

    init(bytes: consuming [UInt8], last: [UInt8]?, keys: GenerationKeys) {
        (self.bytes, self.last, self.keys) = (bytes, last, keys)
    }

    /// Opens the rows, without those whose keys are others.
    func open() -> [StoreRow] {
        var rows: [StoreRow] = []
        rows.reserveCapacity(count)
        var reader = keys.reader()
        for start in stride(from: 0, to: bytes.count, by: Self.rowBytes) {
            let row = bytes.span.extracting(start..<start + Self.rowBytes)
            let id = row.extracting(0..<Limits.idBytes)
            let sealed = row.extracting(Limits.idBytes..<Self.rowBytes)
            guard let token = reader.open(sealed, id: id) else { continue }
            rows.append(StoreRow(identity: RowIdentity(id: id, sealed: sealed), token: token))
        }
        reader.wipe()
        return rows
    }

    /// Gives the memory back.
    consuming func release(to memory: PageMemory) {
        let bytes = bytes
        memory.give(bytes)
    }
}

/// Memory for the pages of a walk over the rows. A page is large: asking the system for the memory
/// of each costs as much as reading a part of it.
package final class PageMemory: Sendable {
    private let free = Mutex<[[UInt8]]>([])

    package init() {}

    /// An empty array, if there is one with room for a page.
    func take() -> [UInt8] { free.withLock { $0.popLast() } ?? [] }

    /// Keeps the memory of a page for another one, without its rows.
    func give(_ bytes: consuming [UInt8]) {
        bytes.wipe()
        bytes.removeAll(keepingCapacity: true)
        let empty = bytes
        free.withLock { $0.append(empty) }
    }
}
