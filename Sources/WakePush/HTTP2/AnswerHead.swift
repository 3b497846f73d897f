private import WakeFetch

/// What we read of an answer's fields.
struct AnswerHead: Equatable, Sendable {
    var status: UInt16
    /// Seconds; 0 when the answer does not say.
    var retryAfter: UInt32 = 0

    /// Nil when there is no valid `:status`, or not in front (RFC 9113 §8.3).
    /// - Parameter wallSeconds: seconds since 1970, for a delay that is given as a date.
    init?(_ list: HeaderList, wallSeconds: Int64) {
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
        guard let delay = Self.value("retry-after", list) else { return }
        if let seconds = Self.number(delay, digits: 1...8) {
            retryAfter = UInt32(seconds)
        } else if let then = HTTPDate.seconds(of: Array(delay)) {
            // RFC 9110 §10.2.3. Against our own clock only if the service does not tell its own: a
            // wrong local clock must not become a wrong wait.
            let told = Self.value("date", list).flatMap { HTTPDate.seconds(of: Array($0)) }
            retryAfter = UInt32(min(max(then - (told ?? wallSeconds), 0), 99_999_999))
        }
    }

    private static func value(_ name: StaticString, _ list: HeaderList) -> ArraySlice<UInt8>? {
        let name = Array(name.description.utf8)
        for index in 1..<max(1, list.count) where list.name(index).elementsEqual(name) {
            return list.value(index)
        }
        return nil
    }

    private static func number(_ text: ArraySlice<UInt8>, digits: ClosedRange<Int>) -> Int? {
        guard digits.contains(text.count), text.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else {
            return nil
        }
        return text.reduce(0) { $0 * 10 + Int($1 - 0x30) }
    }
}
