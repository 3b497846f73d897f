package import WakeFeed
import WakeSystem

/// A tile of a log, or a bundle of its entries (C2SP tlog-tiles): a file that never changes, with
/// up to 256 hashes of one level of the tree, or as many entries.
package struct LogTile: Sendable, Hashable {
    package enum Content: Sendable, Hashable {
        /// Hashes of subtrees of 256^level leaves; 0 for the leaves themselves.
        case hashes(level: Int)
        case entries
    }

    package static let width = 256
    private static let levels: UInt64 = 64
    /// Eight levels of the tree lie in one of tiles.
    private static let height = 8

    package let content: Content
    package let index: UInt64
    /// 1 to 256; a tile of fewer than 256 is partial.
    package let width: Int

    package init(_ content: Content, index: UInt64, width: Int = LogTile.width) {
        precondition((1...Self.width).contains(width))
        self.content = content
        self.index = index
        self.width = width
    }

    package var isFull: Bool { width == Self.width }

    /// The full tile at the same place.
    package var full: LogTile { LogTile(content, index: index) }

    /// The indices of what it holds, of entries or of the hashes of its level.
    package var range: Range<UInt64> {
        let start = index * UInt64(Self.width)
        return start..<start + UInt64(width)
    }

    /// The tiles that hold some entries or hashes of a level in a tree of `size` leaves.
    package static func covering(
        _ content: Content, _ range: Range<UInt64>, size: UInt64
    ) -> [LogTile] {
        guard let last = range.last else { return [] }
        let width = UInt64(Self.width)
        return (range.lowerBound / width...last / width).map { index in
            LogTile(content, index: index, size: size)
        }
    }

    /// The tile as it is in a tree of `size` leaves, which must have it.
    package init(_ content: Content, index: UInt64, size: UInt64) {
        let level = if case .hashes(let level) = content { level } else { 0 }
        let count = level < 8 ? size >> UInt64(Self.height * level) : 0
        let start = index * UInt64(Self.width)
        precondition(start < count, "the tree has no such tile")
        self.init(content, index: index, width: Int(min(count - start, UInt64(Self.width))))
    }

    /// Whether a tree of `size` leaves has this very tile.
    package static func isPart(_ tile: LogTile, of size: UInt64) -> Bool {
        let level = if case .hashes(let level) = tile.content { level } else { 0 }
        let count = level < 8 ? size >> UInt64(height * level) : 0
        let range = tile.range
        return range.upperBound == count || (tile.isFull && range.upperBound <= count)
    }

    /// All tiles that are new in a tree of `size` leaves after one of `old`: the entries first,
    /// then the levels from the leaves on.
    package static func added(from old: UInt64, to size: UInt64) -> [LogTile] {
        guard old < size else { return [] }
        var tiles = covering(.entries, old..<size, size: size)
        var level = 0
        while level < 8 {
            let shift = UInt64(height * level)
            guard old >> shift < size >> shift else { break }
            tiles += covering(
                .hashes(level: level), old >> shift..<size >> shift, size: size)
            level += 1
        }
        return tiles
    }
}

/// The path of a tile below the log's prefix.
extension LogTile {
    /// As in `tile/0/x001/234.p/12` and `tile/entries/000`.
    package var path: String {
        let kind =
            switch content {
            case .hashes(let level): String(level)
            case .entries: "entries"
            }
        var groups: [String] = []
        var rest = index
        repeat {
            let digits = String(rest % 1000)
            groups.append(String(repeating: "0", count: 3 - digits.count) + digits)
            rest /= 1000
        } while rest > 0
        let number = groups.reversed().enumerated().map { position, group in
            position < groups.count - 1 ? "x" + group : group
        }.joined(separator: "/")
        return "tile/\(kind)/\(number)" + (isFull ? "" : ".p/\(width)")
    }

    /// - Returns: nil unless it is the one path of a tile.
    package init?(path: String) {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard parts.count >= 3, parts.count <= 16, parts[0] == "tile",
            let content = Self.content(parts[1])
        else { return nil }
        var (groups, width) = (Array(parts[2...]), Self.width)
        if groups.count >= 2, groups[groups.count - 2].hasSuffix(".p") {
            guard let count = UInt64(canonical: Array(groups.removeLast().utf8)), count > 0,
                count < UInt64(Self.width)
            else { return nil }
            width = Int(count)
            groups[groups.count - 1].removeLast(2)
        }
        var index: UInt64 = 0
        for (position, group) in groups.enumerated() {
            var digits = Array(group.utf8)
            if position < groups.count - 1 {
                guard digits.first == UInt8(ascii: "x") else { return nil }
                digits.removeFirst()
            }
            guard digits.count == 3, digits.allSatisfy(\.isDigit),
                let number = UInt64(String(decoding: digits, as: UTF8.self)),
                // The 256 times as many that it stands for must be a number, too.
                index < UInt64.max >> 24
            else { return nil }
            index = index * 1000 + number
        }
        self.init(content, index: index, width: width)
        // Another spelling of the number.
        guard self.path == path else { return nil }
    }

    private static func content(_ text: String) -> Content? {
        if text == "entries" { return .entries }
        guard let level = UInt64(canonical: Array(text.utf8)), level < levels else { return nil }
        return .hashes(level: Int(level))
    }
}

/// The contents of tiles.
extension LogTile {
    /// The bytes of this tile at the beginning of a wider one; nil when that has fewer entries.
    /// - Parameter read: two bytes of the wider one from a place on, fewer at its end.
    package func byteCount<Failure: Error>(
        read: (Int) throws(Failure) -> [UInt8]
    ) throws(Failure) -> Int? {
        guard case .entries = content else { return width * TreeHash.count }
        var end = 0
        for _ in 0..<width {
            let length = try read(end)
            guard length.count == 2 else { return nil }
            end += 2 + Int(length.span.bigEndian(at: 0, as: UInt16.self))
        }
        return end
    }

    /// The tile that the hash of a subtree is made of, in a tree of `size` leaves.
    package init(holding subtree: CompleteSubtree, size: UInt64) {
        let level = subtree.level / Self.height
        let first = subtree.index << UInt64(subtree.level % Self.height)
        self.init(.hashes(level: level), index: first / UInt64(Self.width), size: size)
    }

    /// - Parameter bytes: the tile's file; nil unless it is as long as the tile is wide.
    package func hashes(_ bytes: [UInt8]) -> [TreeHash]? {
        guard bytes.count == width * TreeHash.count else { return nil }
        return stride(from: 0, to: bytes.count, by: TreeHash.count).compactMap {
            TreeHash(bytes[$0..<$0 + TreeHash.count])
        }
    }

    /// - Parameter hashes: of the tile that holds the subtree.
    /// - Returns: the subtree's root.
    package static func root(of subtree: CompleteSubtree, in hashes: [TreeHash]) -> TreeHash {
        let shift = UInt64(subtree.level % height)
        let first = Int(subtree.index << shift % UInt64(width))
        return MerkleTree.root(hashes[first..<first + 1 << Int(shift)])
    }
}

/// A bundle of entries: each with its length in two bytes before it.
package enum EntryBundle {
    package static func encode(_ entries: some Sequence<[UInt8]>) -> [UInt8] {
        var bytes: [UInt8] = []
        for entry in entries {
            bytes.append(bigEndian: UInt16(entry.count))
            bytes += entry
        }
        return bytes
    }

    /// - Returns: nil unless the bytes are `count` whole entries.
    package static func decode(_ bytes: [UInt8], count: Int) -> [[UInt8]]? {
        var (entries, position) = ([[UInt8]](), 0)
        while position < bytes.count {
            guard bytes.count - position >= 2 else { return nil }
            let length = Int(bytes.span.bigEndian(at: position, as: UInt16.self))
            position += 2
            guard bytes.count - position >= length else { return nil }
            entries.append(Array(bytes[position..<position + length]))
            position += length
        }
        return entries.count == count ? entries : nil
    }
}
