import WakeSodium
import WakeSystem

/// The address of a client; it lives only until its `PrefixHash` is computed.
enum PeerAddress: Sendable, Equatable {
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

/// A hash of a client's address prefix (/24, /56) under a key that lives ten minutes, in memory
/// only. Equal hashes came from one prefix; nothing else can be learned from one.
package struct PrefixHash: Sendable, Hashable, Redacted {
    private let hash: UInt64

    fileprivate init(_ hash: UInt64) { self.hash = hash }
}

/// The random key of prefix hashes, replaced at the end of its life.
struct PrefixHasher: Sendable {
    private var key = ShortHash()
    private var until: UInt64
    private let life: UInt64

    /// - Parameter life: nanoseconds until the key is replaced.
    init(life: UInt64, now: UInt64) {
        self.life = life
        until = now + life
    }

    /// nil where no address is known.
    mutating func hash(of address: PeerAddress, now: UInt64) -> PrefixHash? {
        guard let prefix = address.prefix else { return nil }
        if now >= until {
            key = ShortHash()
            until = now + life
        }
        var bytes: [UInt8] = []
        bytes.append(littleEndian: prefix)
        return PrefixHash(key.hash(bytes.span))
    }
}

/// The number of connections, or streams, of each address prefix.
struct SourceCounts {
    private var counts: [PrefixHash: Int] = [:]

    subscript(source: PrefixHash) -> Int { counts[source, default: 0] }

    mutating func add(_ source: PrefixHash) { counts[source, default: 0] += 1 }

    mutating func remove(_ source: PrefixHash) {
        let left = counts[source, default: 1] - 1
        counts[source] = left > 0 ? left : nil
    }
}
