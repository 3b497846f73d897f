/// The form rules for a Web Push endpoint, before any name is resolved.
///
/// glibc's `getaddrinfo` turns `127.1`, `2130706433`, `0x7f000001` and `0` into addresses, so a
/// host must be a DNS name of at least two labels whose last one is not a number (WHATWG URL §3.5,
/// "ends in a number"). Addresses are checked again when sending, on what is connected to.
package struct PushEndpoint: Equatable {
    /// The host's bytes within the endpoint.
    package let host: Range<Int>

    package init?(_ bytes: Span<UInt8>) {
        let scheme: StaticString = "https://"
        let prefix = scheme.utf8CodeUnitCount
        guard (prefix + 1...Limits.pushTokenBytes).contains(bytes.count),
            bytes.extracting(0..<prefix).equals(scheme)
        else { return nil }
        for index in bytes.indices {
            // RFC 3986 §2: printable ASCII less the delimiters of prose and of fragments.
            switch bytes[index] {
            case 0x21, 0x24...0x3B, 0x3D, 0x3F...0x5B, 0x5D, 0x5F, 0x61...0x7A, 0x7E: continue
            default: return nil
            }
        }
        var end = prefix
        while end < bytes.count, bytes[end] != UInt8(ascii: "/"), bytes[end] != UInt8(ascii: "?") {
            end += 1
        }
        guard end < bytes.count, bytes[end] == UInt8(ascii: "/") else { return nil }
        guard let host = Self.host(bytes, prefix..<end) else { return nil }
        guard Self.isName(bytes.extracting(host)) else { return nil }
        self.host = host
    }

    /// Authority without user information; a port only when it is 443 (RFC 3986 §3.2).
    private static func host(_ bytes: Span<UInt8>, _ authority: Range<Int>) -> Range<Int>? {
        for index in authority where bytes[index] == UInt8(ascii: ":") {
            let port = bytes.extracting(index..<authority.upperBound)
            return port.equals(":443") ? authority.lowerBound..<index : nil
        }
        return authority
    }

    private static func isName(_ host: Span<UInt8>) -> Bool {
        guard (1...253).contains(host.count) else { return false }
        var labels = 0
        var start = 0
        var last = 0..<0
        for index in 0...host.count {
            guard index == host.count || host[index] == UInt8(ascii: ".") else { continue }
            guard isLabel(host, start..<index) else { return false }
            labels += 1
            last = start..<index
            start = index + 1
        }
        return labels >= 2 && !isNumber(host, last) && !isReserved(host, last)
    }

    /// RFC 1123 §2.1: letters, digits and inner hyphens, 1 to 63 of them.
    private static func isLabel(_ host: Span<UInt8>, _ range: Range<Int>) -> Bool {
        guard (1...63).contains(range.count),
            host[range.lowerBound] != UInt8(ascii: "-"),
            host[range.upperBound - 1] != UInt8(ascii: "-")
        else { return false }
        return range.allSatisfy { index in
            switch host[index] {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"):
                true
            default: false
            }
        }
    }

    /// All digits, or `0x` and hexadecimal digits.
    private static func isNumber(_ host: Span<UInt8>, _ range: Range<Int>) -> Bool {
        if range.allSatisfy({ (0x30...0x39).contains(host[$0]) }) { return true }
        guard range.count >= 2, host[range.lowerBound] == UInt8(ascii: "0"),
            host[range.lowerBound + 1] | 0x20 == UInt8(ascii: "x")
        else { return false }
        return range.dropFirst(2).allSatisfy { Hex.value(host[$0]) != nil }
    }

    /// Names that never lead to a push service (RFC 6761, RFC 6762, RFC 7686, ICANN's `internal`).
    private static func isReserved(_ host: Span<UInt8>, _ range: Range<Int>) -> Bool {
        let label = range.map { host[$0] | 0x20 }
        let reserved: [StaticString] = [
            "localhost", "local", "internal", "home", "lan", "onion",
        ]
        return reserved.contains { label.span.equals($0) }
    }
}
