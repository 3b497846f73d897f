import Glibc
package import WakeFiles
package import WakeModel

/// Where a round stands, in a file: what lets it go on after kill -9 or SIGTERM at any point.
///
/// 266,240 bytes, little-endian, never another size:
///
/// | offset | bytes | |
/// |---|---|---|
/// | 0 | 8 | `RVLROUND` |
/// | 8 | 1 | version, 1 |
/// | 9 | 1 | reasons: 1 heartbeat, 2 asked, 4 watched |
/// | 10 | 2 | zeros |
/// | 12 | 4 | start bucket |
/// | 16 | 8 | number of the round |
/// | 24 | 8 | sequence of the feed |
/// | 32 | 8 | number of the store's current generation |
/// | 40 | 8 | start: seconds of uptime |
/// | 48 | 8 | start: seconds since 1970 |
/// | 56 | 16 | start: boot id |
/// | 72 | 16 | random bytes |
/// | 88 | 8 | zeros |
/// | 96 | 32 | BLAKE2b-256 of the 96 bytes before |
/// | 128 | 128 | 16 counters of 8 bytes, see `RoundCounters`; the last 4 are zeros |
/// | 256 | 3840 | zeros |
/// | 4096 | 131072 | previous generation: bit `b % 8` of byte `b / 8` is 1 when bucket b is done |
/// | 135168 | 131072 | current generation, the same |
///
/// Nothing in it is about a person: no id, no token, no time of a row.
///
/// A bit is written in place without a flush. What is written stays in the kernel when the process
/// is killed; only a power cut loses what no `sync()` followed, and then a bucket is walked again:
/// duplicates, never a row without its push. The order in which the kernel writes the pages
/// back does not matter either, as each bit stands for itself and is set only once all pushes of
/// its bucket have had their outcome.
///
/// A value with one owner: copies would write to the same file without knowing of each other.
package struct RoundRecord: Sendable {
    package static let byteCount = setsOffset + 2 * BucketSet.byteCount

    /// Why there is no round to resume although there is a file.
    package enum Unusable: Error, Sendable, Equatable {
        /// Not a record at all.
        case foreign
        /// A record of another version of this program.
        case otherVersion
        /// Cut short, or changed.
        case damaged
    }

    package enum Opened: Sendable {
        case round(RoundRecord)
        /// No file: the last round has ended.
        case none
        /// A file to report and remove; the round it may have been is started anew.
        case unusable(Unusable)
    }

    package let header: RoundHeader
    package private(set) var counters: RoundCounters
    package private(set) var done: RoundBuckets
    private let file: OpenFile

    /// Makes the record of a new round, replacing any other: durable before this returns.
    package static func create(
        _ path: String, _ header: RoundHeader
    ) throws(FileError) -> RoundRecord {
        var bytes = header.encode()
        bytes += repeatElement(0, count: byteCount - bytes.count)
        try Files.replace(path, with: bytes.span)
        let file = try OpenFile(path, flags: O_RDWR)
        return RoundRecord(header, RoundCounters(), RoundBuckets(), file)
    }

    /// Reads what is there to resume.
    /// - Throws: when the file is there but cannot be read: then nobody knows.
    package static func open(_ path: String) throws(FileError) -> Opened {
        let file: OpenFile
        do throws(FileError) {
            file = try OpenFile(path, flags: O_RDWR)
        } catch {
            if error.isMissing { return .none }
            throw error
        }
        guard try file.status().isRegular else { return .unusable(.foreign) }
        let bytes = try file.read(at: 0, count: byteCount + 1)
        do throws(Unusable) {
            return .round(try RoundRecord(decoding: bytes, file))
        } catch {
            return .unusable(error)
        }
    }

    /// Takes the record of an ended round away, durably: it must not come back and be resumed.
    package static func remove(_ path: String) throws(FileError) {
        try Files.remove(path)
        try Files.synchronizeDirectory(of: path)
    }

    /// All pushes of these buckets have had their outcome. Outlives the process from here on.
    package mutating func markDone(_ run: BucketRun) throws(FileError) {
        precondition(
            run.generation == .previous || done.previous.isComplete,
            "current comes after previous")
        done.insert(run)
        let bytes = done[run.generation].bytes[Int(run.first / 8)...Int(run.last / 8)]
        let offset = Self.offset(of: run.generation) + Int(run.first / 8)
        let changed = Array(bytes)
        try file.write(changed.span, at: offset)
    }

    package func isDone(_ generation: Generation, _ bucket: UInt32) -> Bool {
        done[generation].contains(bucket)
    }

    /// Keeps the counters beside the bits; call it as often as they may be wrong after a crash.
    package mutating func keep(_ counters: RoundCounters) throws(FileError) {
        self.counters = counters
        let bytes = counters.encode()
        try file.write(bytes.span, at: RoundHeader.byteCount)
    }

    /// Makes everything marked so far outlive the machine too. A failure is final (fsync(2)).
    package func sync() throws(FileError) {
        try file.synchronize()
    }

    /// The same from a thread of the caller's choice, for who can live with a failure.
    var flush: @Sendable () -> Void {
        let file = file
        return { try? file.synchronize() }
    }

    // MARK: Bytes

    private static let setsOffset = 4096

    private static func offset(of generation: Generation) -> Int {
        generation == .previous ? setsOffset : setsOffset + BucketSet.byteCount
    }

    private init(
        _ header: RoundHeader, _ counters: RoundCounters, _ done: RoundBuckets, _ file: OpenFile
    ) {
        self.header = header
        self.counters = counters
        self.done = done
        self.file = file
    }

    private init(decoding bytes: [UInt8], _ file: OpenFile) throws(Unusable) {
        guard bytes.count >= RoundHeader.byteCount else { throw .damaged }
        let header = try RoundHeader(decoding: bytes[..<RoundHeader.byteCount])
        let countersEnd = RoundHeader.byteCount + RoundCounters.byteCount
        guard bytes.count == Self.byteCount,
            bytes[countersEnd..<Self.setsOffset].allSatisfy({ $0 == 0 })
        else { throw .damaged }
        let middle = Self.offset(of: .current)
        self.init(
            header, RoundCounters(decoding: bytes[RoundHeader.byteCount..<countersEnd]),
            RoundBuckets(
                previous: BucketSet(bytes[Self.setsOffset..<middle]),
                current: BucketSet(bytes[middle...])), file)
    }
}
