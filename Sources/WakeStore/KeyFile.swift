import WakeModel
package import WakeSodium

/// The master keys of both generations and which table each generation lives in.
///
/// 120 bytes, little-endian:
///
/// | offset | bytes | |
/// |---|---|---|
/// | 0 | 8 | `RVLLKEYS` |
/// | 8 | 1 | version, 1 |
/// | 9 | 1 | table of the current generation: 0 is `registration_a`, 1 is `registration_b` |
/// | 10 | 6 | zeros |
/// | 16 | 8 | number of the current generation, counted from 1 |
/// | 24 | 32 | master key of the current generation |
/// | 56 | 32 | master key of the previous generation |
/// | 88 | 32 | BLAKE2b-256 of the 88 bytes before |
///
/// This file alone says what is current. A rotation first empties the previous table (its rows
/// have expired), then replaces this file by rename with the roles exchanged and a new master for
/// the table that was emptied: a crash in between leaves an empty previous table and the old roles,
/// and the rotation is simply done again.
///
/// With `keys = memory` the same value exists without its file.
package struct KeyFile: Sendable {
    package static let byteCount = 120

    package let generation: UInt64
    package let currentTable: StoreSchema.TableName
    package let current: KeyMemory
    package let previous: KeyMemory

    /// Two new random masters.
    static func random(generation: UInt64 = 1) -> KeyFile {
        KeyFile(
            generation: generation, currentTable: .a, current: .random(32), previous: .random(32))
    }

    /// What follows: current becomes previous, and a new master takes the place of the one before,
    /// which is in none of the two.
    func rotated() -> KeyFile {
        KeyFile(
            generation: generation + 1, currentTable: currentTable.other, current: .random(32),
            previous: current)
    }

    init(
        generation: UInt64, currentTable: StoreSchema.TableName, current: KeyMemory,
        previous: KeyMemory
    ) {
        self.generation = generation
        self.currentTable = currentTable
        self.current = current
        self.previous = previous
    }

    init(decoding bytes: [UInt8]) throws(StoreOpenError) {
        guard bytes.count == Self.byteCount, bytes.starts(with: Self.mark),
            bytes[8] == 1, bytes[9] <= 1, bytes[10..<16].allSatisfy({ $0 == 0 })
        else { throw .keyFileDamaged }
        let span = bytes.span
        let checksum = Blake2b.hash(span.extracting(0..<88))
        guard checksum == Array(bytes[88...]) else { throw .keyFileDamaged }
        generation = bytes[16..<24].reversed().reduce(0) { $0 << 8 | UInt64($1) }
        currentTable = bytes[9] == 0 ? .a : .b
        current = KeyMemory(span.extracting(24..<56))
        previous = KeyMemory(span.extracting(56..<88))
    }

    /// The bytes of the file; the caller wipes them.
    func encode() -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Self.byteCount)
        bytes += Self.mark
        bytes += [1, currentTable == .a ? 0 : 1, 0, 0, 0, 0, 0, 0]
        for shift in 0..<8 { bytes.append(UInt8(truncatingIfNeeded: generation >> (8 * shift))) }
        for master in [current, previous] {
            master.withSpan { master in
                for index in master.indices { bytes.append(master[index]) }
            }
        }
        bytes += Blake2b.hash(bytes.span)
        return bytes
    }

    private static let mark = Array("RVLLKEYS".utf8)
}
