/// A record taken apart: the serial type of each value and where its bytes are
/// (sqlite.org/fileformat2.html §2.1).
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
    private static func value(
        _ payload: Span<UInt8>, type: Int, at place: inout Int
    ) -> Value? {
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
