import WakeSystem

/// The counts of a broadcast run, or of one gateway in it. They are written with the place that
/// they belong to, and continue from there after a crash.
package struct RunCounters: Sendable, Equatable {
    package var rows: UInt64 = 0
    package var accepted: UInt64 = 0
    package var gone: UInt64 = 0
    /// Registrations deleted for it, unless renewed meanwhile or held by the deletion breaker.
    package var deleted: UInt64 = 0
    package var retried: UInt64 = 0
    package var abandoned: UInt64 = 0
    /// Rows whose gateway stopped, or was away, before they had their push.
    package var unsent: UInt64 = 0
    package var unserved: UInt64 = 0
    /// Rows whose push token another row had already.
    package var duplicates: UInt64 = 0
    /// Milliseconds spent on the run, summed over restarts.
    package var milliseconds: UInt64 = 0
    /// Not 0 once a deletion breaker has tripped; kept over restarts.
    package var tripped: UInt64 = 0
    /// Messages to topics that a push service accepted.
    package var topics: UInt64 = 0
    /// Rows that wait for their gateway, or for another lap; at the end they are `unsent`.
    package var deferred: UInt64 = 0
    /// Times that a push may have arrived although its outcome is unknown.
    package var uncertain: UInt64 = 0

    package init() {}
    /// Push tokens that had their push, each counted once.
    package var sent: UInt64 { accepted &+ gone &+ abandoned }
    /// Pushes that should have been accepted: all but those to push tokens that are gone.
    package var asked: UInt64 { accepted &+ abandoned &+ unsent &+ deferred }

    /// Whether a push may have arrived.
    var hasArrived: Bool { accepted > 0 || topics > 0 || uncertain > 0 }

    /// A count: its name in the log and in reports, and the metric of its sum over all runs.
    struct Field: Sendable {
        typealias Path = any WritableKeyPath<RunCounters, UInt64> & Sendable

        let path: Path
        let name: StaticString?
        let metric: Metric?

        init(
            _ path: Path, _ name: StaticString? = nil, _ metric: StaticString? = nil,
            _ help: StaticString = ""
        ) {
            (self.path, self.name) = (path, name)
            self.metric = metric.map { Metric($0, help, .counter) }
        }
    }

    /// Every count, in the order of reports; a checkpoint has them in this order as well.
    static let table: [Field] = [
        Field(\.rows, "rows"),
        Field(\.accepted, "accepted", "pushes_accepted", "wake-ups that a push service took"),
        Field(\.gone, "gone", "pushes_gone", "push tokens that a push service called gone"),
        Field(\.deleted, "deleted", "registrations_gone", "registrations deleted as gone"),
        Field(\.retried, "retried", "pushes_retried", "wake-ups sent once more"),
        Field(\.abandoned, "abandoned", "pushes_abandoned", "wake-ups given up for their run"),
        Field(
            \.duplicates, "duplicates", "pushes_saved",
            "registrations whose push token had its wake-up already"),
        Field(\.unsent, "unsent", "pushes_unsent", "wake-ups lost to a gateway that stopped"),
        Field(
            \.unserved, "unserved", "registrations_unserved",
            "registrations without a gateway, or not for heartbeats"),
        Field(\.topics, "topics", "topic_messages", "messages to topics that FCM took"),
        Field(\.deferred, "deferred"), Field(\.uncertain, "uncertain"),
        Field(\.milliseconds), Field(\.tripped),
    ]

    var named: [(StaticString, UInt64)] {
        Self.table.compactMap { field in field.name.map { ($0, self[keyPath: field.path]) } }
    }

    subscript(field: Field) -> Int { Int(clamping: self[keyPath: field.path]) }

    mutating func add(_ other: RunCounters) {
        for field in Self.table { self[keyPath: field.path] &+= other[keyPath: field.path] }
        tripped = 0
    }

    /// Adds those of another gateway in the same run.
    mutating func merge(_ other: RunCounters) {
        let (tripped, longest) = (tripped | other.tripped, max(milliseconds, other.milliseconds))
        add(other)
        (self.tripped, milliseconds) = (tripped, longest)
    }

    static let count = table.count

    var numbers: [UInt64] { Self.table.map { self[keyPath: $0.path] } }

    /// - Parameter numbers: as many as there are counts.
    init(_ numbers: ArraySlice<UInt64>) {
        for (field, number) in zip(Self.table, numbers) { self[keyPath: field.path] = number }
    }
}
