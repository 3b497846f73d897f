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
