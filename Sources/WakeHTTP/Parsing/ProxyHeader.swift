import WakeSystem

/// The header by which a proxy names its client: PROXY protocol, version 2, binary
/// (haproxy.org/download/2.8/doc/proxy-protocol.txt §2.2).
enum ProxyHeader {
    enum Step: Equatable {
        /// `.none` for the proxy's own connection (LOCAL) and families without address prefixes.
        case complete(PeerAddress, consumed: Int)
        case needMore
        case invalid
    }

    /// Addresses and extensions together; real proxies send some hundred bytes.
    static let longestBlock = 2_048
    private static let signature: StaticString = "\r\n\r\n\0\r\nQUIT\n"

    /// Parses the first bytes of a connection.
    static func parse(_ bytes: Span<UInt8>) -> Step {
        for index in 0..<min(signature.count, bytes.count)
        where bytes[index] != signature[index] { return .invalid }
        guard bytes.count >= 16 else { return .needMore }
        // §2.2: version 2 in the high bits; any command but LOCAL and PROXY must be refused.
        guard bytes[12] == 0x20 || bytes[12] == 0x21 else { return .invalid }
        let length = Int(bytes.bigEndian(at: 14, as: UInt16.self))
        guard length <= longestBlock else { return .invalid }
        guard bytes.count >= 16 + length else { return .needMore }
        let consumed = 16 + length
        // §2.2: LOCAL is the proxy's own connection (health checks); its addresses are ignored.
        guard bytes[12] == 0x21 else { return .complete(.none, consumed: consumed) }
        switch bytes[13] {
        case 0x11:
            guard length >= 12 else { return .invalid }
            return .complete(.version4(bytes.bigEndian(at: 16)), consumed: consumed)
        case 0x21:
            guard length >= 36 else { return .invalid }
            let address = PeerAddress(high: bytes.bigEndian(at: 16), low: bytes.bigEndian(at: 24))
            return .complete(address, consumed: consumed)
        case 0x00, 0x31:
            // Unspecified, or a Unix socket: no address prefix.
            return .complete(.none, consumed: consumed)
        default:
            return .invalid
        }
    }
}
