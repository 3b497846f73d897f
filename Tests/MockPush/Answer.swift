import WakePush

/// One answer of the mock.
struct Answer {
    var status: Int
    var reason = ""
    var retryAfter: Int?
    /// Makes a head that needs CONTINUATION.
    var isHuge = false

    static let accepted = Answer(status: 200)

    /// As APNs: `{"reason":"…"}`, and with 410 a timestamp in milliseconds.
    var body: [UInt8] {
        if reason.isEmpty { return [] }
        let time = status == 410 ? ",\"timestamp\":1700000000000" : ""
        return Array("{\"reason\":\"\(reason)\"\(time)}".utf8)
    }

    /// The header block (RFC 7541 §6), without the dynamic table unless asked for.
    func block(_ dynamic: inout DynamicHeaders) -> [UInt8] {
        var block: [UInt8] = []
        switch status {
        case 200: block.append(0x88)
        case 400: block.append(0x8C)
        case 404: block.append(0x8D)
        case 500: block.append(0x8E)
        default: Self.append(name: ":status", value: "\(status)", to: &block)
        }
        dynamic.append(to: &block)
        if !reason.isEmpty {
            Self.append(name: "content-type", value: "application/json", to: &block)
        }
        if let retryAfter {
            Self.append(name: "retry-after", value: "\(retryAfter)", to: &block)
        }
        if isHuge {
            for index in 0..<6 {
                Self.append(
                    name: "x-huge-\(index)", value: String(repeating: "h", count: 5000),
                    to: &block)
            }
        }
        return block
    }

    /// A literal without indexing and with a new name (RFC 7541 §6.2.2).
    private static func append(name: String, value: String, to block: inout [UInt8]) {
        block.append(0x00)
        append(string: name, to: &block)
        append(string: value, to: &block)
    }

    /// RFC 7541 §5.1 and §5.2, without Huffman.
    private static func append(string: String, to block: inout [UInt8]) {
        var count = string.utf8.count
        if count < 127 {
            block.append(UInt8(count))
        } else {
            block.append(127)
            count -= 127
            while count >= 128 {
                block.append(UInt8(count & 127 | 128))
                count >>= 7
            }
            block.append(UInt8(count))
        }
        block += string.utf8
    }
}

/// Fields that only a complete HPACK decoder reads: Huffman strings, kept in the dynamic table and
/// named by index from then on. Whoever asked for a table of 0 gets them all the same.
struct DynamicHeaders {
    let isOn: Bool
    private var isKept = false

    init(isOn: Bool) { self.isOn = isOn }

    mutating func append(to block: inout [UInt8]) {
        guard isOn else { return }
        if isKept {
            // RFC 7541 §2.3.3: the newest entry follows the 61 static ones.
            block.append(0x80 | 62)
            return
        }
        isKept = true
        // RFC 7541 §C.4.3: "custom-key: custom-value" with incremental indexing, in Huffman code.
        block += [
            0x40, 0x88, 0x25, 0xA8, 0x49, 0xE9, 0x5B, 0xA9, 0x7D, 0x7F, 0x89, 0x25, 0xA8, 0x49,
            0xE9, 0x5B, 0xB8, 0xE8, 0xB4, 0xBF,
        ]
    }
}
