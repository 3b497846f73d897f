import WakeModel
package import WakePush

/// What must be remembered of a generation's age across restarts: `data/rotation`. Nothing in it
/// is about people, and no date: uptime means nothing without the start of the machine it is of.
package struct RotationRecord: Sendable, Equatable {
    /// The file is no record of this version.
    package struct Damaged: Error, Equatable {}

    /// Number of the generation that the rest is about.
    package internal(set) var generation: UInt64
    /// Seconds of uptime that it has been current for.
    package internal(set) var elapsed: Int
    /// Uptime up to which they are counted.
    var uptime: Int
    /// The start of the machine that uptime is of; 16 bytes.
    var boot: [UInt8]
    /// A rotation was asked for, or has begun.
    package internal(set) var isAsked = false
    /// The last rotation had no room to write the database anew.
    package internal(set) var owesCompaction = false

    /// A generation that begins now.
    package init(generation: UInt64, now: ClockReading) {
        self.generation = generation
        elapsed = 0
        uptime = now.uptime
        boot = now.boot
    }

    // MARK: Bytes

    /// Bytes of a file at most.
    package static let byteLimit = 256
    /// Far beyond any uptime, far from overflow.
    private static let largest: UInt64 = 1 << 53

    /// Six lines, in this order:
    ///
    /// ```
    /// rotation=1
    /// generation=12
    /// elapsed=345600
    /// seen=86400 <32 hexadecimal digits>      uptime, boot id
    /// asked=0
    /// compaction=0                            1: owed
    /// ```
    package func encode() -> [UInt8] {
        let boot = String(decoding: Hex.encode(boot.span), as: UTF8.self)
        let lines = [
            "rotation=1", "generation=\(generation)", "elapsed=\(elapsed)",
            "seen=\(uptime) \(boot)", "asked=\(isAsked ? 1 : 0)",
            "compaction=\(owesCompaction ? 1 : 0)",
        ]
        return Array((lines.joined(separator: "\n") + "\n").utf8)
    }

    package init(decoding bytes: [UInt8]) throws(Damaged) {
        guard bytes.count <= Self.byteLimit, bytes.last == UInt8(ascii: "\n") else {
            throw Damaged()
        }
        let lines = bytes.dropLast().split(
            separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        guard lines.count == 6, try Self.number(lines[0], "rotation") == 1 else { throw Damaged() }
        generation = try Self.number(lines[1], "generation")
        elapsed = Int(try Self.number(lines[2], "elapsed"))
        let seen = try Self.value(lines[3], "seen").split(
            separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
        guard seen.count == 2 else { throw Damaged() }
        uptime = Int(try Self.number(seen[0]))
        let digits = Array(seen[1])
        guard digits.count == 32, let boot = Hex.decode(digits.span),
            Hex.encode(boot.span) == digits
        else { throw Damaged() }
        self.boot = boot
        isAsked = try Self.flag(lines[4], "asked")
        owesCompaction = try Self.flag(lines[5], "compaction")
        guard generation > 0 else { throw Damaged() }
    }

    private static func value(
        _ line: ArraySlice<UInt8>, _ name: String
    ) throws(Damaged) -> ArraySlice<UInt8> {
        let prefix = Array((name + "=").utf8)
        guard line.starts(with: prefix) else { throw Damaged() }
        return line.dropFirst(prefix.count)
    }

    private static func number(
        _ line: ArraySlice<UInt8>, _ name: String
    ) throws(Damaged) -> UInt64 {
        try number(try value(line, name))
    }

    /// Digits only, no leading zero: one spelling for each number.
    private static func number(_ digits: ArraySlice<UInt8>) throws(Damaged) -> UInt64 {
        guard let first = digits.first, digits.allSatisfy({ (48...57).contains($0) }),
            first != 48 || digits.count == 1,
            let number = UInt64(String(decoding: digits, as: UTF8.self)), number <= largest
        else { throw Damaged() }
        return number
    }

    private static func flag(_ line: ArraySlice<UInt8>, _ name: String) throws(Damaged) -> Bool {
        switch try number(line, name) {
        case 0: false
        case 1: true
        default: throw Damaged()
        }
    }
}
