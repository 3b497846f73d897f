/// PROXY protocol, version 2, binary (haproxy.org/download/2.8/doc/proxy-protocol.txt §2.2): how a
/// front says whom it speaks for. A value: bytes in, address out.
struct ProxyHeader: Equatable {
    enum Step: Equatable {
        case complete(ProxyHeader, consumed: Int)
        case needMore
        case invalid
    }

    /// `.none` when the front speaks for itself (LOCAL) or for a family without address prefixes.
    let source: PeerAddress

    /// Addresses and extensions together; real fronts send some hundred bytes.
    static let longestBlock = 2_048
    private static let signature: StaticString = "\r\n\r\n\0\r\nQUIT\n"

    /// Looks at the first bytes of a connection.
    static func parse(_ bytes: Span<UInt8>) -> Step {
        for index in 0..<min(signature.count, bytes.count)
        where bytes[index] != signature[index] { return .invalid }
        guard bytes.count >= 16 else { return .needMore }
        // §2.2: version 2 in the high bits; any command but LOCAL and PROXY must be refused.
        guard bytes[12] == 0x20 || bytes[12] == 0x21 else { return .invalid }
        let length = Int(bytes[14]) << 8 | Int(bytes[15])
        guard length <= longestBlock else { return .invalid }
        guard bytes.count >= 16 + length else { return .needMore }
        let consumed = 16 + length
        // §2.2: LOCAL: the connection is the front's own (health checks); its addresses are to be
        // ignored.
        guard bytes[12] == 0x21 else {
            return .complete(ProxyHeader(source: .none), consumed: consumed)
        }
        switch bytes[13] {
        case 0x11:
            guard length >= 12 else { return .invalid }
            return .complete(source(bytes, .version4, count: 4), consumed: consumed)
        case 0x21:
            guard length >= 36 else { return .invalid }
            return .complete(source(bytes, .version6, count: 16), consumed: consumed)
        case 0x00, 0x31:
            // Unspecified, or a Unix socket: no prefix to speak of.
            return .complete(ProxyHeader(source: .none), consumed: consumed)
        default:
            return .invalid
        }
    }

    private static func source(
        _ bytes: Span<UInt8>, _ family: PeerAddress.Family, count: Int
    ) -> ProxyHeader {
        var address = InlineArray<16, UInt8>(repeating: 0)
        for index in 0..<count { address[index] = bytes[16 + index] }
        return ProxyHeader(source: PeerAddress(family: family, bytes: address))
    }
}
