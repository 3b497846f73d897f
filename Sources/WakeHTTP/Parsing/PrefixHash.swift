import WakeModel
import WakeSystem

/// The address of a client; it lives only until its `PrefixHash` is computed.
package enum PeerAddress: Sendable, Equatable {
    case none
    case version4(UInt32)
    case version6(high: UInt64, low: UInt64)

    /// Makes IPv4 of a mapped IPv6 address, as a dual-stack listener sees it (RFC 4291 §2.5.5.2).
    init(high: UInt64, low: UInt64) {
        let isMapped = high == 0 && low >> 32 == 0xFFFF
        self =
            isMapped ? .version4(UInt32(truncatingIfNeeded: low)) : .version6(high: high, low: low)
    }

    /// 127.0.0.0/8 or ::1: a proxy on the same machine.
    var isLoopback: Bool {
        switch self {
        case .none: false
        case .version4(let address): address >> 24 == 127
        case .version6(let high, let low): high == 0 && low == 1
        }
    }

    /// The /24 or /56 of the address, as a number no other prefix has; nil without an address.
    fileprivate var prefix: UInt64? {
        switch self {
        case .none: nil
        case .version4(let address): 1 << 62 | UInt64(address >> 8)
        case .version6(let high, _): high >> 8
        }
    }
}

/// A hash of a client's address prefix (/24, /56) under a random key in memory. Under one key equal
/// hashes came from one prefix; nothing else can be learned from one.
package struct PrefixHash: Sendable, Hashable, Redacted {
    fileprivate let hash: UInt64
    /// The same prefix under the former key, which still has counts.
    fileprivate let former: UInt64?
    /// The number of the key.
    fileprivate let key: Int

    /// Places of the prefix in a table of `count`, under its key and the former one. A caller that
    /// counts at both, and believes the larger, forgets nothing when keys turn.
    package func slots(of count: Int) -> (Int, Int) {
        let (count, former) = (UInt64(count), former ?? hash)
        return (Int(hash % count), Int(former % count))
    }
}

/// The keys of prefix hashes. One is current for a while, then the former one, and gone when its
/// last connection has been closed for as long again: until then its counts hold.
struct PrefixHasher: Sendable {
    private struct Key: Sendable {
        let hash = ShortHash()
        let number: Int
        /// Connections that have a hash under it and none under a later one.
        var connections = 0
    }

    private var current = Key(number: 0)
    private var former: Key?
    private var until: UInt64
    /// When the former key goes, unless it has connections.
    private var formerUntil: UInt64 = 0
    private let life: UInt64

    /// - Parameter life: nanoseconds; what was counted must not matter any more after so long.
    init(life: UInt64, now: UInt64) {
        self.life = life
        until = now + life
    }

    /// The hash for a new connection, which ends with `release`; nil where no address is known.
    mutating func hash(of address: PeerAddress, now: UInt64) -> PrefixHash? {
        guard let prefix = address.prefix else { return nil }
        turn(now)
        current.connections += 1
        var bytes: [UInt8] = []
        bytes.append(littleEndian: prefix)
        return PrefixHash(
            hash: current.hash.hash(bytes.span), former: former?.hash.hash(bytes.span),
            key: current.number)
    }

    /// The connection was closed.
    mutating func release(_ source: PrefixHash, now: UInt64) {
        guard source.key != current.number else { return current.connections -= 1 }
        former?.connections -= 1
        formerUntil = now + life
    }

    private mutating func turn(_ now: UInt64) {
        if let former, former.connections == 0, now >= formerUntil { self.former = nil }
        guard now >= until, former == nil else { return }
        former = current
        current = Key(number: current.number + 1)
        (until, formerUntil) = (now + life, now + life)
    }
}

/// The number of connections, or streams, of each address prefix.
struct SourceCounts {
    private var counts: [UInt64: Int] = [:]

    /// Those of a former key are complete until it goes, those of the current one from then on.
    subscript(source: PrefixHash) -> Int {
        max(counts[source.hash, default: 0], source.former.map { counts[$0, default: 0] } ?? 0)
    }

    mutating func add(_ source: PrefixHash) {
        counts[source.hash, default: 0] += 1
        if let former = source.former { counts[former, default: 0] += 1 }
    }

    mutating func remove(_ source: PrefixHash) {
        for hash in [source.hash, source.former].compactMap(\.self) {
            let left = counts[hash, default: 1] - 1
            counts[hash] = left > 0 ? left : nil
        }
    }
}
