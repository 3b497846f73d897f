import WakeSystem

/// Finds in a line of text what may name a person's device: network addresses and secrets.
package enum LeakSearch {
    /// Dotted quads, colon-separated hexadecimal of IPv6 and of hardware, URLs, mail addresses.
    package static func holdsAddress(_ line: ArraySlice<UInt8>) -> Bool {
        if line.contains(UInt8(ascii: "@")) || holds(line, "://") { return true }
        return line.split { !$0.isDigit && $0 != UInt8(ascii: ".") }.contains(where: isQuad)
            || line.split { Hex.value($0) == nil && $0 != UInt8(ascii: ":") }
                .contains(where: isColoned)
    }

    /// 32 and more hexadecimal digits, or 22 and more characters of base64 with capitals, small
    /// letters and digits among them: 16 bytes of a secret are not shorter.
    package static func holdsToken(_ line: ArraySlice<UInt8>) -> Bool {
        line.split { Hex.value($0) == nil }.contains { $0.count >= 32 }
            || line.split { !isBase64($0) }.contains { run in
                run.count >= 22 && run.contains { $0.isDigit }
                    && run.contains { $0.isCapital }
                    && run.contains { (0x61...0x7A).contains($0) }
            }
    }

    /// The forms that push services issue: 64 and more hexadecimal digits (APNs), 100 and more
    /// characters of base64 (FCM), an endpoint (Web Push).
    package static func holdsPushToken(_ line: ArraySlice<UInt8>) -> Bool {
        holds(line, "https://") || line.split { Hex.value($0) == nil }.contains { $0.count >= 64 }
            || line.split { !isBase64($0) }.contains { $0.count >= 100 }
    }

    private static func isQuad(_ run: ArraySlice<UInt8>) -> Bool {
        let parts = run.split(separator: UInt8(ascii: "."))
        return parts.count >= 4 && parts.allSatisfy { $0.count <= 3 }
    }

    /// `::1` and `2001:db8::`, not the time of day.
    private static func isColoned(_ run: ArraySlice<UInt8>) -> Bool {
        let colons = run.count { $0 == UInt8(ascii: ":") }
        return colons >= 3 || colons == 2 && holds(run, "::")
    }

    /// Of either alphabet (RFC 4648 §4, §5).
    private static func isBase64(_ byte: UInt8) -> Bool {
        byte.isAlphanumeric || [0x2B, 0x2D, 0x2F, 0x5F].contains(byte)
    }

    private static func holds(_ line: ArraySlice<UInt8>, _ text: String) -> Bool {
        let text = Array(text.utf8)
        guard line.count >= text.count else { return false }
        return (line.startIndex...line.endIndex - text.count).contains {
            line[$0..<$0 + text.count].elementsEqual(text)
        }
    }
}
