/// What a round has done so far. Counts only; they go on where they were after a crash, short of
/// what was counted since they were written last.
package struct RoundCounters: Sendable, Equatable {
    /// Registrations read.
    package var rows: UInt64 = 0
    package var accepted: UInt64 = 0
    /// Push tokens said to be gone.
    package var gone: UInt64 = 0
    /// Registrations deleted for it, unless renewed meanwhile: fewer than `gone` while the brake
    /// holds.
    package var deleted: UInt64 = 0
    /// Pushes sent once more.
    package var retried: UInt64 = 0
    /// Pushes given up for this round.
    package var abandoned: UInt64 = 0
    /// Rows whose gateway stopped before they had their push.
    package var unsent: UInt64 = 0
    /// Rows of a push service without a gateway.
    package var unserved: UInt64 = 0
    /// Rows whose push token another row had already.
    package var duplicates: UInt64 = 0
    /// Wake-ups on event streams.
    package var streams: UInt64 = 0
    /// Milliseconds the round has been worked on, all runs of the program together.
    package var milliseconds: UInt64 = 0
    /// Gateways whose brake has tripped, a bit each as the caller numbers them: a restart within
    /// the round must not let deletions go on.
    package var braked: UInt64 = 0

    package init() {}

    /// Push tokens that had their push: repeats not counted.
    package var sent: UInt64 { accepted &+ gone &+ abandoned }

    /// Adds what another round has done.
    mutating func add(_ other: RoundCounters) {
        for field in Self.fields { self[keyPath: field] &+= other[keyPath: field] }
        braked = 0
    }

    /// In the order of the file; the 4 words behind them are zeros.
    private static let fields: [any WritableKeyPath<RoundCounters, UInt64> & Sendable] = [
        \.rows, \.accepted, \.gone, \.deleted, \.retried, \.abandoned, \.unsent, \.unserved,
        \.duplicates, \.streams, \.milliseconds, \.braked,
    ]

    static let byteCount = 16 * 8

    func encode() -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Self.byteCount)
        for field in Self.fields { bytes.append(littleEndian: self[keyPath: field]) }
        bytes += repeatElement(0, count: Self.byteCount - bytes.count)
        return bytes
    }

    init(decoding bytes: ArraySlice<UInt8>) {
        precondition(bytes.count == Self.byteCount)
        for (index, field) in Self.fields.enumerated() {
            self[keyPath: field] = bytes.littleEndian(at: 8 * index)
        }
    }
}

extension [UInt8] {
    mutating func append(littleEndian value: UInt64) {
        for shift in 0..<8 { append(UInt8(truncatingIfNeeded: value >> (8 * shift))) }
    }
}

extension ArraySlice<UInt8> {
    /// Eight bytes as a number; `offset` counts from the slice's start.
    func littleEndian(at offset: Int) -> UInt64 {
        let start = startIndex + offset
        return self[start..<start + 8].reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
}
