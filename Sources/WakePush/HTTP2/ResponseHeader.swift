private import WakeFetch
import WakeSystem

/// A header block whose CONTINUATION frames are awaited (RFC 9113 §6.10).
struct HeaderBlock: Sendable {
    let stream: UInt32
    let ends: Bool
    private(set) var bytes: [UInt8]
    private var continuations = 0

    init(_ fragment: Span<UInt8>, of stream: UInt32, ends: Bool) {
        self.stream = stream
        self.ends = ends
        bytes = [UInt8](copying: fragment)
    }

    /// False for a block without an end, an attack (CVE-2024-27316 and its relatives).
    mutating func append(_ fragment: Span<UInt8>) -> Bool {
        continuations += 1
        guard bytes.count + fragment.count <= ConnectionLimits.blockBytes,
            continuations <= ConnectionLimits.continuations
        else { return false }
        bytes.append(span: fragment)
        return true
    }
}

/// The fields of an answer that matter here.
struct ResponseHeader: Equatable, Sendable {
    let status: UInt16
    /// Seconds; 0 when the answer does not say.
    private(set) var retryAfter: UInt32 = 0

    /// Nil unless a valid `:status` is in front (RFC 9113 §8.3). `wallSeconds`: since 1970.
    init?(_ list: HeaderList, wallSeconds: Int64) {
        guard let first = list.fields.first else { return nil }
        let index = first.staticName - StaticTable.firstStatus
        if first.isStatic, StaticTable.statuses.indices.contains(index) {
            status = StaticTable.statuses[index]
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
            // RFC 9110 §10.2.3. By the peer's clock, if it is known.
            let date = Self.value("date", list).flatMap { HTTPDate.seconds(of: Array($0)) }
            retryAfter = UInt32(min(max(then - (date ?? wallSeconds), 0), 99_999_999))
        }
    }

    private static func value(_ name: StaticString, _ list: HeaderList) -> ArraySlice<UInt8>? {
        let name = name.bytes
        for index in 1..<max(1, list.count) where list.name(index).elementsEqual(name) {
            return list.value(index)
        }
        return nil
    }

    private static func number(_ text: ArraySlice<UInt8>, digits: ClosedRange<Int>) -> Int? {
        guard digits.contains(text.count), text.allSatisfy(\.isDigit) else { return nil }
        return text.reduce(0) { $0 * 10 + Int($1 - 0x30) }
    }
}
