package enum NumberFormat {
    /// `12,345,678`
    static func grouped(_ number: some BinaryInteger) -> String {
        let digits = Array(String(number.magnitude))
        var text = number < 0 ? "-" : ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index).isMultiple(of: 3) { text.append(",") }
            text.append(digit)
        }
        return text
    }

    /// At most 5 characters: `999`, `12.3k`, `1.23M`, `456M`, `18.4E`.
    static func short(_ number: some BinaryInteger) -> String {
        let units = ["", "k", "M", "G", "T", "P", "E"]
        var value = Double(max(0, number))
        var unit = 0
        while value >= 999.5, unit < units.count - 1 {
            value /= 1000
            unit += 1
        }
        if unit == 0 { return String(Int(value)) }
        let decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0
        return fixed(value, decimals: decimals) + units[unit]
    }

    /// `1:02:03`, from 100 hours on `4d 4h`; at most 8 characters up to 999 days.
    package static func clock(_ seconds: Int) -> String {
        let seconds = max(0, seconds)
        let (hours, rest) = seconds.quotientAndRemainder(dividingBy: 3600)
        if hours >= 100 {
            let days = hours / 24
            return days > 999 ? "> 999d" : "\(days)d \(hours % 24)h"
        }
        return "\(hours):\(twoDigits(rest / 60)):\(twoDigits(rest % 60))"
    }

    /// Rounded half up, a point, no exponent.
    static func fixed(_ value: Double, decimals: Int) -> String {
        precondition((0...3).contains(decimals))
        let scale = [1, 10, 100, 1000][decimals]
        let bounded = value.isFinite ? min(max(value, -1e15), 1e15) : 0
        let scaled = Int((bounded * Double(scale)).rounded())
        let whole = "\(scaled < 0 ? "-" : "")\(scaled.magnitude / UInt(scale))"
        guard decimals > 0 else { return whole }
        let fraction = String(scaled.magnitude % UInt(scale))
        return whole + "." + String(repeating: "0", count: decimals - fraction.count) + fraction
    }

    /// One decimal under 100, else whole and grouped.
    static func rate(_ value: Double) -> String {
        value < 100 ? fixed(value, decimals: 1) : grouped(Int(value.rounded()))
    }

    static func padded(_ text: String, to width: Int) -> String {
        String(repeating: " ", count: max(0, width - text.count)) + text
    }

    private static func twoDigits(_ number: Int) -> String {
        number < 10 ? "0\(number)" : "\(number)"
    }
}
