package import WakePush
import WakeSodium

/// What a round is: fixed when it starts, and the same after every resume.
package struct RoundHeader: Sendable, Equatable {
    /// Counted from 1, one more for each broadcast.
    package let round: UInt64
    /// Sequence of the feed it wakes for.
    package let sequence: UInt64
    package let reasons: BroadcastReasons
    /// Number of the store's current generation at the start. After a rotation the tables have
    /// changed their meaning and the record no longer fits.
    package let generation: UInt64
    /// Where both walks begin, drawn anew for each round.
    package let startBucket: UInt32
    package let started: ClockReading
    /// 16 random bytes that tell this round from every other, whatever its number. About nobody.
    package let salt: [UInt8]

    package init(
        round: UInt64, sequence: UInt64, reasons: BroadcastReasons, generation: UInt64,
        started: ClockReading, using random: inout some RandomNumberGenerator
    ) {
        precondition(started.boot.count == 16)
        self.round = round
        self.sequence = sequence
        self.reasons = reasons
        self.generation = generation
        self.started = started
        startBucket = UInt32.random(in: 0..<UInt32(BucketSet.buckets), using: &random)
        salt = (0..<16).map { _ in UInt8.random(in: 0...UInt8.max, using: &random) }
    }

    /// Bytes of the header in the record, its checksum included.
    static let byteCount = 128

    func encode() -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Self.byteCount)
        bytes += Self.mark
        bytes += [Self.version, reasons.rawValue]
        bytes += [0, 0] + [0, 8, 16, 24].map { UInt8(truncatingIfNeeded: startBucket >> $0) }
        bytes.append(littleEndian: round)
        bytes.append(littleEndian: sequence)
        bytes.append(littleEndian: generation)
        bytes.append(littleEndian: UInt64(bitPattern: Int64(started.uptime)))
        bytes.append(littleEndian: UInt64(bitPattern: Int64(started.wall)))
        bytes += started.boot
        bytes += salt
        bytes += repeatElement(0, count: Self.checkedBytes - bytes.count)
        bytes += Blake2b.hash(bytes.span)
        return bytes
    }

    /// - Throws: when the bytes are no header of this version.
    init(decoding bytes: ArraySlice<UInt8>) throws(RoundRecord.Unusable) {
        precondition(bytes.count == Self.byteCount)
        let bytes = Array(bytes)
        guard bytes.starts(with: Self.mark) else { throw .foreign }
        guard bytes[8] == Self.version else { throw .otherVersion }
        let checksum = Blake2b.hash(bytes.span.extracting(0..<Self.checkedBytes))
        guard checksum == Array(bytes[Self.checkedBytes...]) else { throw .damaged }
        reasons = BroadcastReasons(rawValue: bytes[9])
        startBucket = bytes[12..<16].reversed().reduce(0) { $0 << 8 | UInt32($1) }
        guard startBucket < BucketSet.buckets else { throw .damaged }
        let words = bytes[16...]
        round = words.littleEndian(at: 0)
        sequence = words.littleEndian(at: 8)
        generation = words.littleEndian(at: 16)
        started = ClockReading(
            wall: Int(Int64(bitPattern: words.littleEndian(at: 32))),
            uptime: Int(Int64(bitPattern: words.littleEndian(at: 24))), boot: Array(bytes[56..<72]))
        salt = Array(bytes[72..<88])
    }

    private static let mark = Array("RVLROUND".utf8)
    private static let version: UInt8 = 1
    private static let checkedBytes = 96
}
