import WakeSystem

@testable import WakeHTTP

/// PROXY v2 headers as a front sends them.
enum ProxyWire {
    static let signature: [UInt8] = [
        0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A,
    ]

    static func header(
        command: UInt8 = 0x21, family: UInt8, _ block: [UInt8]
    ) -> [UInt8] {
        signature + [command, family, UInt8(block.count >> 8), UInt8(block.count & 0xFF)] + block
    }

    /// TCP over IPv4 from `source`.
    static func version4(_ source: [UInt8]) -> [UInt8] {
        header(family: 0x11, source + [127, 0, 0, 1, 0x30, 0x39, 0x01, 0xBB])
    }

    /// TCP over IPv6 from `source`.
    static func version6(_ source: [UInt8]) -> [UInt8] {
        header(
            family: 0x21, source + [UInt8](repeating: 0, count: 15) + [1, 0x30, 0x39, 0x01, 0xBB])
    }
}

extension PeerAddress {
    /// An address by its 4 or 16 bytes in network order.
    init(_ bytes: [UInt8]) {
        self =
            bytes.count == 4
            ? .version4(bytes.span.bigEndian(at: 0))
            : PeerAddress(high: bytes.span.bigEndian(at: 0), low: bytes.span.bigEndian(at: 8))
    }
}
