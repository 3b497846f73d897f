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

    var named: [(StaticString, UInt64)] {
        [
            ("rows", rows), ("accepted", accepted), ("gone", gone), ("deleted", deleted),
            ("retried", retried), ("abandoned", abandoned), ("duplicates", duplicates),
            ("unsent", unsent), ("unserved", unserved), ("topics", topics),
            ("deferred", deferred), ("uncertain", uncertain),
        ]
    }

    mutating func add(_ other: RunCounters) {
        for field in Self.fields { self[keyPath: field] &+= other[keyPath: field] }
        tripped = 0
    }

    /// Adds those of another gateway in the same run.
    mutating func merge(_ other: RunCounters) {
        let (tripped, longest) = (tripped | other.tripped, max(milliseconds, other.milliseconds))
        add(other)
        (self.tripped, milliseconds) = (tripped, longest)
    }

    private static let fields: [any WritableKeyPath<RunCounters, UInt64> & Sendable] = [
        \.rows, \.accepted, \.gone, \.deleted, \.retried, \.abandoned, \.unsent, \.unserved,
        \.duplicates, \.milliseconds, \.tripped, \.topics, \.deferred, \.uncertain,
    ]

    static let count = fields.count

    var numbers: [UInt64] { Self.fields.map { self[keyPath: $0] } }

    /// - Parameter numbers: as many as there are counts.
    init(_ numbers: ArraySlice<UInt64>) {
        for (field, number) in zip(Self.fields, numbers) { self[keyPath: field] = number }
    }
}
