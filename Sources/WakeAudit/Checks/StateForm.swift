import WakeModel
import WakeSystem

/// The declared form of a small file, byte by byte: `'` stands for a quotation mark, `(...)?` and
/// `(...)*` for parts that may be absent or repeated, and between `<` and `>` stands what differs:
///
/// | | |
/// |---|---|
/// | `number 0-9` | decimal digits in their shortest form, `-` before a negative one |
/// | `hex 16` | that number of bytes, in small digits |
/// | `bool` | `true` or `false` |
/// | `word 10` | at most that number of letters, digits and hyphens |
/// | `base64url 64` | that number of bytes |
/// | `base64 60-64` | such a number of bytes, with `+` and `/`, in lines |
/// | `text 0-64` | at most that number of printable characters and line breaks, to the end |
/// | `encoded FORM` | base64url of that form |
/// | `crc32` | in hexadecimal digits, of the bytes before the last comma |
/// | `blake2b` | 32 bytes, of all before |
/// | `zeros 6` | that number of bytes |
/// | `zeros 0-6` | at most that number, which end the file |
/// | `bytes 0-15,255 64` | that number of bytes of these values |
/// | `integers 0-9 14` | that number, of eight bytes each, little-endian |
struct StateForm: Sendable, Equatable {
    private indirect enum Part: Sendable, Equatable {
        case literal([UInt8])
        case optional([Part])
        case repeated([Part])
        case number(ClosedRange<Int>)
        case hex(Int)
        case bool
        case word(Int)
        case base64url(Int)
        case base64(ClosedRange<Int>)
        case text(ClosedRange<Int>)
        case encoded([Part])
        case crc32
        case blake2b
        case zeros(ClosedRange<Int>)
        case bytes([ClosedRange<Int>], count: Int)
        case integers(ClosedRange<Int>, count: Int)
    }

    /// The outcome for bytes that may be cut short.
    enum Fit { case whole, beginning, none }

    private let parts: [Part]

    /// Whether zeros are all there is: such a file is never rewritten.
    var isZeros: Bool { if case .zeros? = parts.first { parts.count == 1 } else { false } }
    /// Whether printable characters are what it is made of.
    var isText: Bool { parts.first == .literal([UInt8(ascii: "{")]) }

    func fit(_ bytes: [UInt8]) -> Fit {
        var match = Match(bytes: bytes)
        guard match.take(parts) else { return match.isCut ? .beginning : .none }
        return match.position == bytes.count ? .whole : .none
    }

    // MARK: Reading a form

    /// - Returns: nil for what is no form.
    init?(_ text: String) {
        var rest = Array(text.utf8)[...]
        guard let parts = Self.parts(&rest, until: nil), !parts.isEmpty else { return nil }
        self.parts = parts
    }

    private static func parts(_ text: inout ArraySlice<UInt8>, until end: UInt8?) -> [Part]? {
        var parts: [Part] = []
        while let byte = text.popFirst() {
            switch byte {
            case end: return parts
            case UInt8(ascii: "("):
                guard let inner = Self.parts(&text, until: UInt8(ascii: ")")),
                    let mark = text.popFirst()
                else { return nil }
                parts.append(mark == UInt8(ascii: "?") ? .optional(inner) : .repeated(inner))
            case UInt8(ascii: "<"):
                guard let part = part(&text) else { return nil }
                parts.append(part)
            default: parts.append(.literal([byte == UInt8(ascii: "'") ? UInt8(ascii: "\"") : byte]))
            }
        }
        return end == nil ? parts : nil
    }

    private static func part(_ text: inout ArraySlice<UInt8>) -> Part? {
        let isEnd: (UInt8) -> Bool = { $0 == UInt8(ascii: ">") || $0 == UInt8(ascii: " ") }
        let name = String(decoding: text.prefix { !isEnd($0) }, as: UTF8.self)
        text = text.drop { !isEnd($0) }.dropFirst()
        if name == "encoded" { return parts(&text, until: UInt8(ascii: ">")).map(Part.encoded) }
        let simple: [String: Part] = ["bool": .bool, "crc32": .crc32, "blake2b": .blake2b]
        if let part = simple[name] { return part }
        let words = text.prefix { $0 != UInt8(ascii: ">") }.split(separator: UInt8(ascii: " "))
        text = text.drop { $0 != UInt8(ascii: ">") }.dropFirst()
        let ranges = words.first?.split(separator: UInt8(ascii: ",")).map { Self.range($0) } ?? []
        guard let first = ranges.first, let range = first, range.upperBound > 0 else { return nil }
        let count = words.count == 2 ? Self.range(words[1])?.upperBound : nil
        switch (name, count) {
        case ("number", nil): return .number(range)
        case ("hex", nil): return .hex(range.upperBound)
        case ("word", nil): return .word(range.upperBound)
        case ("base64url", nil): return .base64url(range.upperBound)
        case ("base64", nil): return .base64(range)
        case ("text", nil): return .text(range)
        case ("zeros", nil): return .zeros(range)
        case ("bytes", let count?): return .bytes(ranges.compactMap(\.self), count: count)
        case ("integers", let count?): return .integers(range, count: count)
        default: return nil
        }
    }

    /// `5`, `0-5` or `-5-5`.
    private static func range(_ text: ArraySlice<UInt8>) -> ClosedRange<Int>? {
        let hyphen = text.dropFirst().firstIndex(of: UInt8(ascii: "-")) ?? text.startIndex
        let last = hyphen == text.startIndex ? text : text[(hyphen + 1)...]
        let first = hyphen == text.startIndex ? text : text[..<hyphen]
        guard let least = Int(String(decoding: first, as: UTF8.self)),
            let most = Int(String(decoding: last, as: UTF8.self)), least <= most
        else { return nil }
        return least...most
    }

    // MARK: Matching

    /// A position in bytes. No part begins as the one behind it does: nothing is tried twice.
    private struct Match {
        let bytes: [UInt8]
        var position = 0
        /// Whether the bytes ended where more was to come.
        var isCut = false

        mutating func take(_ parts: [Part]) -> Bool {
            for part in parts {
                guard take(part) else { return false }
            }
            return true
        }

        private mutating func take(_ part: Part) -> Bool {
            switch part {
            case .literal(let literal): return takeLiteral(literal)
            case .optional(let inner):
                let start = position
                if !take(inner) { position = start }
                return !isCut
            case .repeated(let inner):
                while true {
                    let start = position
                    if take(inner) { continue }
                    position = start
                    return !isCut
                }
            case .number(let range): return takeNumber(range)
            case .bool: return takeRun(5) { (0x61...0x7A).contains($0) }.map(isBool) ?? false
            case .hex(let count):
                return takeRun(2 * count) { Hex.value($0) != nil && !$0.isCapital }?.count
                    == 2 * count
            case .word(let most):
                return takeRun(most) { $0.isAlphanumeric || $0 == UInt8(ascii: "-") } != nil
            case .base64url(let count):
                let text = takeRun((count * 8 + 5) / 6, Self.isBase64URL)
                return text.flatMap { Base64URL.decode($0.span) }?.count == count
            case .base64(let range): return takeBase64(range)
            case .text(let range):
                let count = bytes.count - position
                guard range.contains(count), bytes[position...].allSatisfy(Self.isText) else {
                    return false
                }
                position = bytes.count
                return true
            case .encoded(let inner):
                guard let text = takeRun(4096, Self.isBase64URL),
                    let decoded = Base64URL.decode(text.span)
                else { return false }
                var match = Match(bytes: decoded)
                return match.take(inner) && match.position == decoded.count
            case .crc32: return takeCRC32()
            case .blake2b:
                let hash = Blake2b.hash(bytes.span.extracting(0..<position))
                return takeLiteral(hash)
            case .zeros(let range) where range.lowerBound < range.upperBound:
                let start = position
                position = bytes.count
                return range.contains(position - start) && bytes.span.isZero(start..<position)
            case .zeros(let range):
                let end = min(position + range.upperBound, bytes.count)
                guard bytes.span.isZero(position..<end), has(range.upperBound) else { return false }
                position = end
                return true
            case .bytes(let ranges, let count): return takeBytes(ranges, count)
            case .integers(let range, let count):
                for _ in 0..<count {
                    guard has(8) else { return false }
                    let number: UInt64 = bytes.span.littleEndian(at: position)
                    guard range.contains(Int(clamping: number)) else { return false }
                    position += 8
                }
                return true
            }
        }

        private mutating func has(_ count: Int) -> Bool {
            isCut = bytes.count - position < count
            return !isCut
        }

        private mutating func takeLiteral(_ literal: [UInt8]) -> Bool {
            for byte in literal {
                guard has(1), bytes[position] == byte else { return false }
                position += 1
            }
            return true
        }

        private mutating func takeBytes(_ ranges: [ClosedRange<Int>], _ count: Int) -> Bool {
            var isAllowed = [Bool](repeating: false, count: 256)
            for range in ranges {
                for value in range.clamped(to: 0...255) { isAllowed[value] = true }
            }
            let end = min(position + count, bytes.count)
            for index in position..<end where !isAllowed[Int(bytes[index])] { return false }
            guard has(count) else { return false }
            position = end
            return true
        }

        /// One byte at least of those that fit; nil also where the bytes end within.
        private mutating func takeRun(
            _ most: Int, _ fits: (UInt8) -> Bool
        ) -> [UInt8]? {
            let start = position
            while position - start < most, has(1), fits(bytes[position]) { position += 1 }
            return isCut || start == position
                ? nil : Array(bytes[start..<position])
        }

        /// RFC 7468 §2: lines of base64, the last of which is padded and ends as the others do.
        private mutating func takeBase64(_ range: ClosedRange<Int>) -> Bool {
            let most = range.upperBound * 2
            guard var text = takeRun(most, Self.isBase64) else { return false }
            defer { text.wipe() }
            guard text.removeLast() == UInt8(ascii: "\n") else { return false }
            text.removeAll { $0 == UInt8(ascii: "\n") }
            while text.last == UInt8(ascii: "=") { text.removeLast() }
            for index in text.indices {
                switch text[index] {
                case UInt8(ascii: "+"): text[index] = UInt8(ascii: "-")
                case UInt8(ascii: "/"): text[index] = UInt8(ascii: "_")
                default: break
                }
            }
            guard var decoded = Base64URL.decode(text.span) else { return false }
            defer { decoded.wipe() }
            return range.contains(decoded.count)
        }

        private static func isBase64(_ byte: UInt8) -> Bool {
            byte.isAlphanumeric
                || [0x0A, 0x2B, 0x2F, 0x3D].contains(byte)  // "\n", "+", "/", "="
        }

        private static func isText(_ byte: UInt8) -> Bool {
            (0x20...0x7E).contains(byte) || [0x09, 0x0A, 0x0D].contains(byte)
        }

        private mutating func takeNumber(_ range: ClosedRange<Int>) -> Bool {
            guard let text = takeRun(20, { $0.isDigit || $0 == UInt8(ascii: "-") }) else {
                return false
            }
            let word = String(decoding: text, as: UTF8.self)
            // One way of writing for each number.
            guard let number = Int(word), String(number) == word else { return false }
            return range.contains(number)
        }

        private func isBool(_ word: [UInt8]) -> Bool {
            word.span.equals("true") || word.span.equals("false")
        }

        private mutating func takeCRC32() -> Bool {
            var end = position
            while end > 0, bytes[end] != UInt8(ascii: ",") { end -= 1 }
            var digits: [UInt8] = []
            digits.append(bigEndian: CRC32.checksum(bytes.span.extracting(0..<end)))
            return takeLiteral(Hex.encode(digits.span))
        }

        private static func isBase64URL(_ byte: UInt8) -> Bool {
            byte.isAlphanumeric || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
        }
    }
}
