private import WakeBytes

/// Lower-case hexadecimal out, either case in (RFC 4648 §8).
package enum Hex {
    package static func encode(_ bytes: Span<UInt8>) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(bytes.count * 2)
        append(bytes, to: &text)
        return text
    }

    package static func append(_ bytes: Span<UInt8>, to text: inout [UInt8]) {
        // In place and with one check of the room for all digits: a broadcast writes millions of
        // tokens, and to append each digit takes four times as long.
        text.append(addingCapacity: bytes.count * 2) { output in
            output.append(repeating: 0, count: bytes.count * 2)
            var digits = output.mutableSpan
            for index in bytes.indices {
                digits[2 * index] = digit(bytes[index] >> 4)
                digits[2 * index + 1] = digit(bytes[index] & 15)
            }
        }
    }

    /// - Returns: nil for an odd length or anything but hexadecimal digits.
    package static func decode(_ text: Span<UInt8>) -> [UInt8]? {
        guard text.count % 2 == 0 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count / 2)
        var index = 0
        while index < text.count {
            guard let high = value(text[index]), let low = value(text[index + 1])
            else { return nil }
            bytes.append(high << 4 | low)
            index += 2
        }
        return bytes
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }

    package static func value(_ character: UInt8) -> UInt8? {
        switch character {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): character - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): character - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}

/// Base64url without padding, canonical only (RFC 4648 §5 and §3.5).
package enum Base64URL {
    package static func encode(_ bytes: Span<UInt8>) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count * 4 + 2) / 3)
        var accumulator: UInt32 = 0
        var bits = 0
        for index in bytes.indices {
            accumulator = accumulator << 8 | UInt32(bytes[index])
            bits += 8
            while bits >= 6 {
                bits -= 6
                text.append(character(UInt8(accumulator >> UInt32(bits) & 63)))
            }
        }
        if bits > 0 { text.append(character(UInt8(accumulator << UInt32(6 - bits) & 63))) }
        return text
    }

    /// - Returns: nil for foreign characters, padding, impossible lengths, and a last character
    ///   with bits that carry nothing (RFC 4648 §3.5).
    package static func decode(_ text: Span<UInt8>) -> [UInt8]? {
        guard text.count % 4 != 1 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count * 3 / 4)
        var accumulator: UInt32 = 0
        var bits = 0
        for index in text.indices {
            guard let value = value(text[index]) else { return nil }
            accumulator = accumulator << 6 | UInt32(value)
            bits += 6
            if bits >= 8 {
                bits -= 8
                bytes.append(UInt8(accumulator >> UInt32(bits) & 255))
                accumulator &= (1 << UInt32(bits)) - 1
            }
        }
        return accumulator == 0 ? bytes : nil
    }

    private static func character(_ value: UInt8) -> UInt8 {
        switch value {
        case 0..<26: UInt8(ascii: "A") + value
        case 26..<52: UInt8(ascii: "a") + value - 26
        case 52..<62: UInt8(ascii: "0") + value - 52
        case 62: UInt8(ascii: "-")
        default: UInt8(ascii: "_")
        }
    }

    private static func value(_ character: UInt8) -> UInt8? {
        switch character {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): character - UInt8(ascii: "A")
        case UInt8(ascii: "a")...UInt8(ascii: "z"): character - UInt8(ascii: "a") + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0") + 52
        case UInt8(ascii: "-"): 62
        case UInt8(ascii: "_"): 63
        default: nil
        }
    }
}

/// Base64 with padding, canonical only (RFC 4648 §4 and §3.5).
package enum Base64 {
    package static func encode(_ bytes: Span<UInt8>) -> [UInt8] {
        var text = Base64URL.encode(bytes)
        for index in text.indices {
            switch text[index] {
            case UInt8(ascii: "-"): text[index] = UInt8(ascii: "+")
            case UInt8(ascii: "_"): text[index] = UInt8(ascii: "/")
            default: break
            }
        }
        while text.count % 4 != 0 { text.append(UInt8(ascii: "=")) }
        return text
    }

    /// - Returns: nil for foreign characters, other padding than needed, and a last character with
    ///   bits that carry nothing.
    package static func decode(_ text: Span<UInt8>) -> [UInt8]? {
        guard text.count % 4 == 0 else { return nil }
        var plain = text.array
        for _ in 0..<2 where plain.last == UInt8(ascii: "=") { plain.removeLast() }
        for index in plain.indices {
            switch plain[index] {
            case UInt8(ascii: "+"): plain[index] = UInt8(ascii: "-")
            case UInt8(ascii: "/"): plain[index] = UInt8(ascii: "_")
            case UInt8(ascii: "-"), UInt8(ascii: "_"): return nil
            default: break
            }
        }
        return Base64URL.decode(plain.span)
    }
}
