import WakePush

/// One answer of the mock.
struct Answer: Equatable {
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
