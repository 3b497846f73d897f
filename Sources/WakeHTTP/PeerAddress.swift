/// The address of a connection's far end, for as long as it takes to make a `SourceTag` of it.
struct PeerAddress: Sendable, Equatable {
    enum Family: Sendable { case none, version4, version6 }

    let family: Family
    /// Network order; of version 4 the first four count.
    let bytes: InlineArray<16, UInt8>

    static let none = PeerAddress(family: .none, bytes: InlineArray(repeating: 0))

    /// An IPv4 address mapped into IPv6 (RFC 4291 §2.5.5.2), as a dual-stack listener sees it,
    /// becomes IPv4.
    init(family: Family, bytes: InlineArray<16, UInt8>) {
        var isMapped = family == .version6
        for index in 0..<12 where bytes[index] != (index < 10 ? 0 : 0xFF) { isMapped = false }
        guard isMapped else {
            self.family = family
            self.bytes = bytes
            return
        }
        var short = InlineArray<16, UInt8>(repeating: 0)
        for index in 0..<4 { short[index] = bytes[12 + index] }
        self.family = .version4
        self.bytes = short
    }

    /// 127.0.0.0/8 or ::1: a front on the same machine.
    var isLoopback: Bool {
        switch family {
        case .none: return false
        case .version4: return bytes[0] == 127
        case .version6:
            for index in 0..<15 where bytes[index] != 0 { return false }
            return bytes[15] == 1
        }
    }

    /// The /24 or /56 this address lies in, as a number no other prefix has; nil without an
    /// address.
    var prefix: UInt64? {
        switch family {
        case .none: return nil
        case .version4: return 1 << 62 | number(of: 3)
        case .version6: return number(of: 7)
        }
    }

    private func number(of count: Int) -> UInt64 {
        var number: UInt64 = 0
        for index in 0..<count { number = number << 8 | UInt64(bytes[index]) }
        return number
    }

    static func == (left: PeerAddress, right: PeerAddress) -> Bool {
        guard left.family == right.family else { return false }
        for index in 0..<16 where left.bytes[index] != right.bytes[index] { return false }
        return true
    }
}
