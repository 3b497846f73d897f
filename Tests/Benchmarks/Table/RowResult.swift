import TestSupport

/// A row of the table as it was measured: medians of the rounds, and ratios round by round.
struct RowResult: Codable, Sendable {
    struct ArmResult: Codable, Sendable {
        let name: String
        let role: Arm.Role
        /// CPU of an operation, microseconds.
        let microseconds: Double?
        /// Operations a second; nil where a round has none.
        let rate: Double?
        /// Milliseconds within which 50, 90, 99 and 100 of 100 operations were answered.
        let latency: [Double]?
        /// Of an operation.
        let bytes: Double?
        /// The most that was resident, bytes.
        let memory: Int?
        let failures: Int

        init(_ name: String, _ role: Arm.Role, _ rounds: [Measurement]) {
            self.name = name
            self.role = role
            let costs = rounds.compactMap(\.microseconds)
            microseconds = costs.isEmpty ? nil : median(costs)
            let rates = rounds.map(\.rate).filter(\.isFinite)
            rate = rates.isEmpty ? nil : median(rates)
            var latencies = rounds.first?.latencies
            for round in rounds.dropFirst() { latencies?.add(round.latencies) }
            latency = latencies.flatMap { all in
                all.isEmpty ? nil : [0.5, 0.9, 0.99, 1].map { Double(all.value(at: $0)) / 1e6 }
            }
            let sizes = rounds.compactMap(\.bytes)
            bytes = sizes.isEmpty ? nil : median(sizes)
            memory = rounds.compactMap(\.memory).max()
            failures = rounds.reduce(0) { $0 + $1.failures }
        }
    }

    /// How good ours is, divided by how good another arm is: of a ceiling a share, of a peer how
    /// many times.
    struct Ratio: Codable, Sendable {
        let to: String
        let role: Arm.Role
        let median: Double
        let least: Double
        let most: Double
    }

    let name: String
    let operation: String
    let unit: String
    let size: Int
    let rounds: Int
    let comparison: Comparison
    /// What measures this row alone.
    let command: String
    let arms: [ArmResult]
    let ratios: [Ratio]

    init(
        _ benchmark: Benchmark, size: Int, command: String,
        rounds: [(arm: Arm, measurements: [Measurement])]
    ) {
        name = benchmark.name
        operation = benchmark.operation
        unit = benchmark.unit
        self.size = size
        self.rounds = rounds.map(\.measurements.count).max() ?? 0
        comparison = benchmark.comparison
        self.command = command
        arms = rounds.map { ArmResult($0.arm.name, $0.arm.role, $0.measurements) }
        let ours = rounds.first { $0.arm.role == .ours }?.measurements ?? []
        ratios = rounds.compactMap { arm, measurements in
            guard arm.role == .ceiling || arm.role == .peer else { return nil }
            let values = zip(ours, measurements).compactMap { ours, other -> Double? in
                guard let merit = benchmark.comparison.merit(of: ours),
                    let otherMerit = benchmark.comparison.merit(of: other)
                else { return nil }
                return merit / otherMerit
            }.sorted()
            guard let least = values.first, let most = values.last else { return nil }
            return Ratio(
                to: arm.name, role: arm.role, median: values[(values.count - 1) / 2], least: least,
                most: most)
        }
    }

    var ours: ArmResult? { arms.first { $0.role == .ours } }
    var hasFailed: Bool { arms.contains { $0.failures > 0 } }
}

/// Everything that one run measured.
struct BenchReport: Codable, Sendable {
    /// The machine and what was built on it.
    let machine: String
    let commit: String?
    let rows: [RowResult]
}

// MARK: As text

extension RowResult {
    static let header =
        "row".padded(30) + "CPU us".leftPadded(10) + "rate/s".leftPadded(12)
        + "p50 ms".leftPadded(9) + "p99 ms".leftPadded(9) + "bytes".leftPadded(9)
        + "  of what is possible"

    /// The row's line, and one for each arm that is no ceiling.
    var lines: [String] {
        arms.filter { $0.role != .ceiling }.map { arm in
            let title = arm.role == .ours ? name : "  \(arm.name)"
            var line = title.padded(30) + Figure.cells(of: arm)
            if arm.role == .ours, let ceiling = ratios.first(where: { $0.role == .ceiling }) {
                line += "  \(Figure.share(ceiling)) (\(comparison.rawValue)): \(ceiling.to)"
            }
            if let peer = ratios.first(where: { $0.role == .peer && $0.to == arm.name }) {
                line += "  ours is \(Figure.times(peer)) as good (\(comparison.rawValue))"
            }
            if arm.failures > 0 { line += "  \(arm.failures) FAILED" }
            return line
        }
    }

    /// What the documents say, in one cell.
    var figure: String {
        guard let ours else { return "" }
        var parts: [String] = []
        if let microseconds = ours.microseconds {
            parts.append("\(Figure.number(microseconds)) us of CPU each")
        }
        if let bytes = ours.bytes { parts.append("\(Figure.number(bytes)) bytes each") }
        if let rate = ours.rate, comparison != .bytes { parts.append("\(Figure.number(rate)) /s") }
        if let latency = ours.latency {
            parts.append(
                "half within \(Figure.number(latency[0])) ms, 99 % within "
                    + "\(Figure.number(latency[2])) ms")
        }
        if let memory = ours.memory { parts.append("at most \(memory >> 20) MiB of memory") }
        var text = parts.joined(separator: ", ")
        for ratio in ratios where ratio.role == .ceiling {
            text += "; \(Figure.share(ratio)) of what is possible: \(ratio.to)"
        }
        for arm in arms where arm.role == .part {
            guard let microseconds = arm.microseconds else { continue }
            text += "; \(arm.name) \(Figure.number(microseconds)) us"
        }
        for ratio in ratios where ratio.role == .peer {
            text += "; \(Figure.times(ratio)) as good as \(ratio.to)"
        }
        return text
    }
}

/// Numbers as a table shows them.
enum Figure {
    static func cells(of arm: RowResult.ArmResult) -> String {
        let latency = arm.latency ?? []
        return (arm.microseconds.map(number) ?? "").leftPadded(10)
            + (arm.rate.map(number) ?? "").leftPadded(12)
            + (latency.first.map(number) ?? "").leftPadded(9)
            + (latency.count > 2 ? number(latency[2]) : "").leftPadded(9)
            + (arm.bytes.map(number) ?? "").leftPadded(9)
    }

    /// Three digits, or all before the point.
    static func number(_ value: Double) -> String {
        guard value.isFinite, value >= 0 else { return "-" }
        if value < 0.095 { return thousandths(value) }
        if value < 9.995 { return hundredths(value) }
        if value < 99.95 { return tenths(value) }
        let digits = String(Int(value < 10_000 ? value.rounded() : (value / 100).rounded() * 100))
        var grouped = ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index) % 3 == 0 { grouped += "," }
            grouped.append(digit)
        }
        return grouped
    }

    private static func thousandths(_ value: Double) -> String {
        let digits = String(Int((value * 1000).rounded()))
        return "0." + String(repeating: "0", count: max(0, 3 - digits.count)) + digits
    }

    static func share(_ ratio: RowResult.Ratio) -> String {
        let (least, most) = (percent(ratio.least), percent(ratio.most))
        let spread = least == most ? "" : " (\(least) to \(most))"
        return "\(percent(ratio.median)) %\(spread)"
    }

    static func times(_ ratio: RowResult.Ratio) -> String {
        let (least, most) = (number(ratio.least), number(ratio.most))
        let spread = least == most ? "" : " (\(least) to \(most))"
        return "\(number(ratio.median)) times\(spread)"
    }

    private static func percent(_ ratio: Double) -> String { number(ratio * 100) }
}

extension String {
    func padded(_ width: Int) -> String {
        self + String(repeating: " ", count: max(0, width - count))
    }

    func leftPadded(_ width: Int) -> String {
        String(repeating: " ", count: max(1, width - count)) + self
    }
}
