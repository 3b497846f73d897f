import WakeSystem

/// The `Date` field line (RFC 9110 §6.6.1), rendered once per second.
package struct DateField {
    private var second = Int.min
    /// `Date: …` with its CRLF.
    private(set) var line: [UInt8] = []

    mutating func update(to second: Int) {
        guard second != self.second else { return }
        self.second = second
        line.removeAll(keepingCapacity: true)
        line.append(text: "Date: ")
        DateField.append(second, to: &line)
        line.append(text: "\r\n")
    }

    /// IMF-fixdate (RFC 9110 §5.6.7), `Sun, 06 Nov 1994 08:49:37 GMT`; `second` ≥ 0, from 1970.
    static func append(_ second: Int, to bytes: inout [UInt8]) {
        let days = second / 86_400
        let rest = second % 86_400
        let date = civil(fromDays: days)
        let names: StaticString = "ThuFriSatSunMonTueWed"
        let months: StaticString = "JanFebMarAprMayJunJulAugSepOctNovDec"
        let weekday = days % 7 * 3
        let month = (date.month - 1) * 3
        for index in weekday..<(weekday + 3) { bytes.append(names[index]) }
        bytes.append(text: ", ")
        append(twoDigits: date.day, to: &bytes)
        bytes.append(0x20)
        for index in month..<(month + 3) { bytes.append(months[index]) }
        bytes.append(0x20)
        append(twoDigits: date.year / 100, to: &bytes)
        append(twoDigits: date.year % 100, to: &bytes)
        bytes.append(0x20)
        append(twoDigits: rest / 3_600, to: &bytes)
        bytes.append(0x3A)
        append(twoDigits: rest / 60 % 60, to: &bytes)
        bytes.append(0x3A)
        append(twoDigits: rest % 60, to: &bytes)
        bytes.append(text: " GMT")
    }

    /// `2026-11-28 10:20 UTC` of seconds since 1970, for people.
    package static func minute(_ second: Int64) -> String {
        // The last minute of the year 9999.
        let second = Int(min(max(0, second), 253_402_300_740))
        let date = civil(fromDays: second / 86_400)
        var text: [UInt8] = []
        append(twoDigits: date.year / 100, to: &text)
        for (mark, number) in [
            ("", date.year % 100), ("-", date.month), ("-", date.day),
            (" ", second / 3_600 % 24), (":", second / 60 % 60),
        ] {
            text += mark.utf8
            append(twoDigits: number, to: &text)
        }
        return String(decoding: text, as: UTF8.self) + " UTC"
    }

    private static func append(twoDigits number: Int, to bytes: inout [UInt8]) {
        bytes.append(0x30 + UInt8(number / 10 % 10))
        bytes.append(0x30 + UInt8(number % 10))
    }

    /// The proleptic Gregorian date of a day counted from 1970-01-01 (Hinnant, `civil_from_days`).
    private static func civil(fromDays days: Int) -> (year: Int, month: Int, day: Int) {
        let shifted = days + 719_468
        let era = shifted / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra =
            (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        return (year, month, day)
    }
}
