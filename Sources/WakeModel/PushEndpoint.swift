import WakeSystem

/// The form rules for a Web Push endpoint, before any name is resolved.
///
/// glibc's `getaddrinfo` turns `127.1`, `2130706433`, `0x7f000001` and `0` into addresses, so a
/// host must be a DNS name of at least two labels whose last one does not start with a digit, as no
/// top-level domain does (RFC 1123 §2.1; WHATWG URL §3.5, "ends in a number"). Addresses are
/// checked again when sending. Names beyond ASCII must come as `xn--` labels.
package struct PushEndpoint: Equatable {
    package let host: Range<Int>

    package init?(_ bytes: Span<UInt8>) {
        let scheme: StaticString = "https://"
        let prefix = scheme.utf8CodeUnitCount
        guard (prefix + 1...Limits.pushTokenBytes).contains(bytes.count),
            bytes.extracting(0..<prefix).equals(scheme)
        else { return nil }
        var end = prefix
        while end < bytes.count, bytes[end] != UInt8(ascii: "/"), bytes[end] != UInt8(ascii: "?") {
            end += 1
        }
        guard end < bytes.count, bytes[end] == UInt8(ascii: "/") else { return nil }
        guard let host = Self.host(bytes, prefix..<end), Self.isName(bytes.extracting(host)),
            Self.isTarget(bytes.extracting(end..<bytes.count))
        else { return nil }
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
        return labels >= 2 && !host[last.lowerBound].isDigit && !isReserved(host, last)
    }

    /// RFC 1123 §2.1: letters, digits and inner hyphens, 1 to 63 of them.
    private static func isLabel(_ host: Span<UInt8>, _ range: Range<Int>) -> Bool {
        guard (1...63).contains(range.count), host[range.lowerBound] != UInt8(ascii: "-"),
            host[range.upperBound - 1] != UInt8(ascii: "-")
        else { return false }
        return range.allSatisfy { host[$0].isAlphanumeric || host[$0] == UInt8(ascii: "-") }
    }

    /// Names that never lead to a push service: of this machine (RFC 6761 §6.3), of the local
    /// network (RFC 6762 appendix G, ICANN's `internal`), of the infrastructure (RFC 3172, RFC
    /// 8375), of other networks (RFC 7686, RFC 9476), or of nothing (RFC 6761 §6.4). `test` and
    /// `example` are ordinary names that do not resolve (RFC 6761 §6.2, §6.5).
    private static func isReserved(_ host: Span<UInt8>, _ range: Range<Int>) -> Bool {
        let label = range.map { host[$0] | 0x20 }
        let reserved: [StaticString] = [
            "localhost", "localdomain", "local", "internal", "intranet", "private", "corp", "home",
            "lan", "arpa", "onion", "alt", "invalid",
        ]
        return reserved.contains { label.span.equals($0) }
    }

    /// Path and query (RFC 3986 §3.3, §3.4): ASCII, no fragment, percent signs with two digits, and
    /// no segment that would be resolved away (§5.2.4).
    private static func isTarget(_ target: Span<UInt8>) -> Bool {
        var segment = DotSegment()
        var isPath = true
        var index = 0
        while index < target.count {
            var byte = target[index]
            index += 1
            switch byte {
            case UInt8(ascii: "/") where isPath, UInt8(ascii: "?") where isPath:
                guard !segment.isDots else { return false }
                segment = DotSegment()
                isPath = byte == UInt8(ascii: "/")
                continue
            case UInt8(ascii: "%"):
                guard index + 1 < target.count, let high = Hex.value(target[index]),
                    let low = Hex.value(target[index + 1])
                else { return false }
                byte = high << 4 | low
                index += 2
            case 0x21, 0x24, 0x26...0x3B, 0x3D, 0x3F...0x5A, 0x5F, 0x61...0x7A, 0x7E: break
            default: return false
            }
            segment.add(byte)
        }
        return !(isPath && segment.isDots)
    }

    /// Whether a segment is `.` or `..`, percent-encoded or not.
    private struct DotSegment {
        private var length = 0
        private var isOnlyDots = true

        var isDots: Bool { isOnlyDots && (1...2).contains(length) }

        mutating func add(_ byte: UInt8) {
            length += 1
            if byte != UInt8(ascii: ".") { isOnlyDots = false }
        }
    }
}
