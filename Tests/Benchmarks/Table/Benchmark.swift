import TestSupport

/// One row of the table: an operation, measured in several arms, which take turns in each round.
struct Benchmark: Sendable {
    let name: String
    /// One operation, in words.
    let operation: String
    /// What `sizes` count.
    let unit: String
    let sizes: Sizes
    let comparison: Comparison
    /// Rounds at most: a value that does not vary needs one, and has no round to warm up.
    let rounds: Int
    /// Takes minutes or gigabytes: only at full scale, or when it is asked for by its name.
    let isLong: Bool
    let prepare: @Sendable (Setting) async throws -> [Arm]

    init(
        _ name: String, _ operation: String, unit: String = "operations", sizes: Sizes,
        by comparison: Comparison, rounds: Int = .max, isLong: Bool = false,
        prepare: @escaping @Sendable (Setting) async throws -> [Arm]
    ) {
        self.name = name
        self.operation = operation
        self.unit = unit
        self.sizes = sizes
        self.comparison = comparison
        self.rounds = rounds
        self.isLong = isLong
        self.prepare = prepare
    }
}

/// How much work a round is.
struct Sizes: Sendable {
    let small: Int
    let full: Int
    /// The first of the three sizes of `--growth`; the others are ten times and a hundred times as
    /// much. nil: there is nothing to grow.
    let growth: Int?

    init(_ small: Int, full: Int? = nil, growth: Int?) {
        self.small = small
        self.full = full ?? small
        self.growth = growth
    }
}

/// What the arms of a row are compared by.
enum Comparison: String, Codable, Sendable {
    /// Operations a second.
    case rate
    /// CPU time of an operation.
    case processorTime = "cpu"
    /// Bytes of memory or disk of one.
    case bytes
    /// The time until half of the operations are answered.
    case latency

    /// The larger, the better; nil when this was not measured.
    func merit(of measurement: Measurement) -> Double? {
        let value: Double?
        switch self {
        case .rate: value = measurement.rate
        case .processorTime: value = measurement.microseconds.map { 1 / $0 }
        case .bytes: value = measurement.bytes.map { 1 / $0 }
        case .latency:
            value =
                measurement.latencies.isEmpty
                ? nil : 1 / Double(measurement.latencies.value(at: 0.5))
        }
        return value.flatMap { $0.isFinite && $0 > 0 ? $0 : nil }
    }
}

/// One of the things that a row measures.
struct Arm {
    enum Role: String, Codable, Sendable {
        case ours
        /// A loop that does only what cannot be avoided.
        case ceiling
        /// Somebody else's program for the same.
        case peer
        /// A part of ours, alone.
        case part
    }

    let role: Role
    let name: String
    /// - Parameter round: from 0, which warms up.
    let measure: (Int) async throws -> Measurement

    init(
        _ role: Role, _ name: String, _ measure: @escaping (Int) async throws -> Measurement
    ) {
        self.role = role
        self.name = name
        self.measure = measure
    }
}

/// What a row is measured with.
struct Setting {
    let size: Int
    let isFull: Bool
    /// Where files go.
    let directory: String
    let hasPeers: Bool
    let stores: FilledStores
    /// Tells that something cannot be measured here, and why.
    let skip: (String) -> Void
}

/// Why a row cannot be measured on this machine.
struct BenchFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
