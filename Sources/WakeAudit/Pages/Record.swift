import WakeSystem

/// Rows of fixed-length blobs without rowids (sqlite.org/fileformat2.html §1.6, §2.1, §2.4).
struct RecordLayout: Equatable, Sendable {
    let lengths: [Int]
    let pageSize: Int
    /// The bytes every record begins with: its own length, and the type of each value.
    let header: [UInt8]
    let payloadCount: Int
    /// Bytes of a cell in a leaf: the payload's length and the payload.
    let leafCell: Int
    /// Bytes of a cell above the leaves: a page number before the same.
    var interiorCell: Int { leafCell + 4 }

    /// - Returns: nil when there is no column or a row would not fit without overflow pages.
    init?(lengths: [Int], pageSize: Int) {
        let longest = BTreePage.longestLocalPayload(inIndexOf: pageSize)
        guard !lengths.isEmpty, lengths.allSatisfy({ (1...longest).contains($0) })
        else { return nil }
        var types: [UInt8] = []
        // §2.1: a blob of N bytes has serial type 12 + 2N.
        for length in lengths { types += Varint.encode(UInt64(12 + 2 * length)) }
        guard types.count < 127 else { return nil }
        header = [UInt8(types.count + 1)] + types
        payloadCount = header.count + lengths.reduce(0, +)
        leafCell = Varint.encode(UInt64(payloadCount)).count + payloadCount
        self.lengths = lengths
        self.pageSize = pageSize
        guard payloadCount <= longest else { return nil }
    }

    func cellCount(isLeaf: Bool) -> Int { isLeaf ? leafCell : interiorCell }

    /// The first value of a cell's record, which rows are in the order of; nil for another form.
    func id(in page: Span<UInt8>, of cell: BTreePage.Cell) -> [UInt8]? {
        let payload = page.extracting(cell.payload)
        guard payload.count >= header.count + lengths[0],
            payload.extracting(0..<header.count).equals(header)
        else { return nil }
        return payload.extracting(header.count..<header.count + lengths[0]).array
    }
}

/// SQLite's big-endian numbers of 1 to 9 bytes (sqlite.org/fileformat2.html §1.6).
enum Varint {
    /// - Returns: nil when the number does not end before `bytes` does.
    static func read(
        _ bytes: Span<UInt8>, at start: Int, before end: Int
    ) -> (value: UInt64, end: Int)? {
        var value: UInt64 = 0
        var position = start
        while position < end {
            let byte = bytes[position]
            position += 1
            if position - start == 9 { return (value << 8 | UInt64(byte), position) }
            value = value << 7 | UInt64(byte & 0x7F)
            if byte < 0x80 { return (value, position) }
        }
        return nil
    }

    /// The shortest form, for values of less than 64 bits.
    static func encode(_ value: UInt64) -> [UInt8] {
        var rest = value >> 7
        var bytes = [UInt8(value & 0x7F)]
        while rest > 0 {
            bytes.append(UInt8(rest & 0x7F) | 0x80)
            rest >>= 7
        }
        return bytes.reversed()
    }
}

/// A record: type and range of bytes of each value (sqlite.org/fileformat2.html §2.1).
struct Record {
    enum Value {
        case null
        case integer(Int64)
        case real
        case blob(Range<Int>)
        case text(Range<Int>)
    }

    let values: [Value]
    /// Whether all bytes of the record are there, and no more.
    let isWhole: Bool

    /// - Returns: nil when the header is not one, or a value begins beyond the payload's end.
    init?(_ payload: Span<UInt8>) {
        guard let header = Varint.read(payload, at: 0, before: payload.count),
            header.value <= UInt64(payload.count), header.value >= UInt64(header.end)
        else { return nil }
        let headerEnd = Int(header.value)
        var position = header.end
        var place = headerEnd
        var values: [Value] = []
        while position < headerEnd {
            guard let type = Varint.read(payload, at: position, before: headerEnd),
                type.value <= UInt64(Int32.max), place <= payload.count,
                let value = Self.value(payload, type: Int(type.value), at: &place)
            else { return nil }
            position = type.end
            values.append(value)
        }
        self.values = values
        isWhole = place == payload.count
    }

    /// A text or blob may go on in overflow pages: then its range ends where the page's part does.
    private static func value(_ payload: Span<UInt8>, type: Int, at place: inout Int) -> Value? {
        switch type {
        case 0: return .null
        case 8: return .integer(0)
        case 9: return .integer(1)
        case 1...6:
            let count = type == 5 ? 6 : type == 6 ? 8 : type
            guard place + count <= payload.count else { return nil }
            var number: Int64 = payload[place] < 0x80 ? 0 : -1
            for index in place..<place + count { number = number << 8 | Int64(payload[index]) }
            place += count
            return .integer(number)
        case 7:
            guard place + 8 <= payload.count else { return nil }
            place += 8
            return .real
        case 10, 11: return nil
        default:
            let start = place
            place += (type - 12) / 2
            let range = start..<min(place, payload.count)
            return type % 2 == 0 ? .blob(range) : .text(range)
        }
    }
}
