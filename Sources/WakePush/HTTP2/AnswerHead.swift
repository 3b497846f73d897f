/// What we read of an answer's fields.
struct AnswerHead: Equatable, Sendable {
    var status: UInt16
    /// Seconds; 0 when the answer does not say, or gives a date.
    var retryAfter: UInt32 = 0

    /// Nil when there is no valid `:status`, or not in front (RFC 9113 §8.3).
    init?(_ list: HeaderList) {
        guard let first = list.fields.first else { return nil }
        if first.isStatic, first.staticName >= StaticTable.firstStatus,
            first.staticName <= StaticTable.lastStatus
        {
            status = StaticTable.status(first.staticName)
        } else {
            guard list.name(0).elementsEqual(":status".utf8),
                let number = Self.number(list.value(0), digits: 3...3), number >= 100
            else { return nil }
            status = UInt16(number)
        }
        guard status != 200 else { return }
        for index in 1..<max(1, list.count) where list.name(index).elementsEqual("retry-after".utf8)
        {
            retryAfter = UInt32(Self.number(list.value(index), digits: 1...8) ?? 0)
        }
    }

    private static func number(_ text: ArraySlice<UInt8>, digits: ClosedRange<Int>) -> Int? {
        guard digits.contains(text.count), text.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else {
            return nil
        }
        return text.reduce(0) { $0 * 10 + Int($1 - 0x30) }
    }
}
