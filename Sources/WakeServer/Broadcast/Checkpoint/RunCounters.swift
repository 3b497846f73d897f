import WakeSystem

/// The counts of a broadcast run. They continue after a crash, from when they were last written.
package struct RunCounters: Sendable, Equatable {
    package var rows: UInt64 = 0
    package var accepted: UInt64 = 0
    package var gone: UInt64 = 0
    /// Registrations deleted for it, unless renewed meanwhile or held by the deletion breaker.
    package var deleted: UInt64 = 0
    package var retried: UInt64 = 0
    package var abandoned: UInt64 = 0
    /// Rows whose gateway stopped before they had their push.
    package var unsent: UInt64 = 0
    package var unserved: UInt64 = 0
    /// Rows whose push token another row had already.
    package var duplicates: UInt64 = 0
    /// Milliseconds spent on the run, summed over restarts.
    package var milliseconds: UInt64 = 0
    /// Gateways whose deletion breaker has tripped, a bit each by index; kept over restarts.
    package var tripped: UInt64 = 0

    package init() {}
    /// Push tokens that had their push, each counted once.
    package var sent: UInt64 { accepted &+ gone &+ abandoned }

    /// The counts of rows and pushes by name, for logs and scripts.
    var named: [(StaticString, UInt64)] {
        [
            ("rows", rows), ("accepted", accepted), ("gone", gone), ("deleted", deleted),
            ("retried", retried), ("abandoned", abandoned), ("duplicates", duplicates),
            ("unsent", unsent), ("unserved", unserved),
        ]
    }

    mutating func add(_ other: RunCounters) {
        for field in Self.fields { self[keyPath: field] &+= other[keyPath: field] }
        tripped = 0
    }

    private static let fields: [any WritableKeyPath<RunCounters, UInt64> & Sendable] = [
        \.rows, \.accepted, \.gone, \.deleted, \.retried, \.abandoned, \.unsent, \.unserved,
        \.duplicates, \.milliseconds, \.tripped,
    ]

    static let byteCount = 11 * 8

    func encode() -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Self.byteCount)
        for field in Self.fields { bytes.append(littleEndian: self[keyPath: field]) }
        return bytes
    }

    init(decoding bytes: Span<UInt8>) {
        precondition(bytes.count == Self.byteCount)
        for (index, field) in Self.fields.enumerated() {
            self[keyPath: field] = bytes.littleEndian(at: 8 * index)
        }
    }
}
