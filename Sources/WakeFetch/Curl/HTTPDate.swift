import WakeSystem

/// The three date formats of HTTP that a recipient must understand (RFC 9110 §5.6.7).
package enum HTTPDate {
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// Seconds since 1970; nil for any other text. The name of the day is not checked.
    package static func seconds(of text: [UInt8]) -> Int64? {
        guard (24...40).contains(text.count), text.allSatisfy({ (0x20...0x7E).contains($0) }) else {
            return nil
        }
        let words = String(decoding: text, as: UTF8.self).split(separator: " ").map(String.init)
        switch words.count {
        case 6 where words[5] == "GMT":  // Sun, 06 Nov 1994 08:49:37 GMT
            return seconds(year: words[3], month: words[2], day: words[1], time: words[4])
        case 4 where words[3] == "GMT":  // Sunday, 06-Nov-94 08:49:37 GMT
            let date = words[1].split(separator: "-").map(String.init)
            guard date.count == 3, date[2].count == 2 else { return nil }
            // Two digits: 70...99 are 19xx; by the time that matters, nobody sends these.
            let century = date[2] < "70" ? "20" : "19"
            return seconds(year: century + date[2], month: date[1], day: date[0], time: words[2])
        case 5:  // Sun Nov  6 08:49:37 1994
            return seconds(year: words[4], month: words[1], day: words[2], time: words[3])
        default: return nil
        }
    }

    /// The same of a timestamp in UTC (RFC 3339), such as `2026-11-22T08:49:37Z`; a fraction of a
    /// second is dropped.
    package static func seconds(ofTimestamp text: String) -> Int64? {
        let halves = text.split(separator: "T", omittingEmptySubsequences: false)
        guard halves.count == 2, halves[1].last == "Z" else { return nil }
        let date = halves[0].split(separator: "-").map(String.init)
        guard date.count == 3, let month = Int(date[1]), months.indices.contains(month - 1) else {
            return nil
        }
        let time = halves[1].dropLast().split(separator: ".").first.map(String.init) ?? ""
        return seconds(year: date[0], month: months[month - 1], day: date[2], time: time)
    }

    private static func seconds(year: String, month: String, day: String, time: String) -> Int64? {
        let clock = time.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
        guard clock.count == 3, clock.allSatisfy({ $0.count == 2 }), year.count == 4,
            let month = months.firstIndex(of: month), (1...2).contains(day.count),
            let year = number(year), let day = number(day), let hour = number(clock[0]),
            let minute = number(clock[1]), let second = number(clock[2]), year >= 1970, day >= 1,
            hour < 24, minute < 60, second <= 60,  // a leap second
            day <= length(ofMonth: month, year: year)
        else { return nil }
        return days(year: year, month: month, day: day) * 86400 + hour * 3600 + minute * 60 + second
    }

    private static func number(_ text: String) -> Int64? {
        text.utf8.allSatisfy(\.isDigit) ? Int64(text) : nil
    }

    private static func length(ofMonth month: Int, year: Int64) -> Int64 {
        let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        return [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month]
    }

    private static func days(year: Int64, month: Int, day: Int64) -> Int64 {
        let before = year - 1
        let leapDays =
            (before / 4 - before / 100 + before / 400) - (1969 / 4 - 1969 / 100 + 1969 / 400)
        let inYear = (0..<month).reduce(Int64(0)) { $0 + length(ofMonth: $1, year: year) }
        return (year - 1970) * 365 + leapDays + inYear + day - 1
    }
}
