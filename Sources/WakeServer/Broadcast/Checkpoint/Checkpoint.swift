import Dispatch
import Glibc
import WakeModel
import WakeSodium
import WakeSystem

/// The checkpoint of a broadcast run: a file from which the run continues after kill -9 or SIGTERM
/// at any point. 2,101,248 bytes, little-endian, never another size:
///
/// | offset | bytes | |
/// |---|---|---|
/// | 0 | 8 | `RVLCHECK` |
/// | 8 | 1 | version, 2 |
/// | 9 | 1 | reasons: 1 heartbeat, 2 asked, 4 watched |
/// | 10 | 6 | zeros |
/// | 16 | 8 | number of the run |
/// | 24 | 8 | sequence of the feed |
/// | 32 | 8 | number of the store's current generation |
/// | 40 | 32 | BLAKE2b-256 of the 40 bytes before |
/// | 72 | 56 | zeros |
/// | 128 | 112 | 14 counters of 8 bytes, see `RunCounters` |
/// | 240 | 3856 | zeros |
/// | 4096 | 1048576 | previous generation: in byte b the `ServiceSet` that bucket b is done for |
/// | 1052672 | 1048576 | current generation, the same |
///
/// Nothing in it is about a person: no id, no token, no time.
///
/// A bit is written in place without a flush, once its push service has no push left to do in the
/// bucket. A
/// power cut loses what no fsync(2) followed, and then a bucket is read again: duplicates, never
/// a row without its push. The value has one owner: copies would write to the same file.
struct Checkpoint: Sendable {
    /// The parameters of a run: fixed when it starts, the same after every resume.
    struct Header: Sendable, Equatable {
        let run: UInt64
        let sequence: UInt64
        let reasons: BroadcastReasons
        /// The store's current generation at the start: after a rotation it does not fit.
        let generation: UInt64
    }

    enum Unusable: Error, Equatable {
        case unreadable(FileError)
        case foreign
        case otherVersion
        case damaged
    }

    let header: Header
    private(set) var counters = RunCounters()
    private(set) var done = CompletedBuckets()
    private let file: OpenFile

    /// Makes the checkpoint of a new run, replacing any other: durable before this returns.
    static func create(_ path: String, _ header: Header) throws(FileError) -> Checkpoint {
        let encoded = encode(header)
        var bytes = [UInt8](repeating: 0, count: byteCount)
        bytes.replaceSubrange(0..<encoded.count, with: encoded)
        try Files.replace(path, with: bytes.span)
        return Checkpoint(header, try OpenFile(path, flags: O_RDWR))
    }

    /// Reads the checkpoint to resume; nil without a file: the last run has ended.
    static func open(_ path: String) throws(Unusable) -> Checkpoint? {
        let (file, bytes): (OpenFile, [UInt8])
        do throws(FileError) {
            file = try OpenFile(path, flags: O_RDWR)
            bytes = try file.status().isRegular ? try file.read(at: 0, count: byteCount + 1) : []
        } catch {
            if error.isMissing { return nil }
            throw .unreadable(error)
        }
        return try Checkpoint(decoding: bytes, file)
    }

    /// Removes the checkpoint of an ended run, durably: it must not come back and be resumed.
    static func remove(_ path: String) throws(FileError) {
        try Files.remove(path)
        try Files.synchronizeDirectory(of: path)
    }

    /// Marks buckets in which every push of these push services has its outcome. Outlives the
    /// process from here on.
    mutating func markDone(
        _ range: BucketRange, for services: ServiceSet = .all
    ) throws(FileError) { try markDone([(range, services)]) }

    /// The same for several ranges in the order of their buckets.
    mutating func markDone(_ completed: [CompletionTracker.Completed]) throws(FileError) {
        let wasComplete = done.previous.completeServices
        for (range, services) in completed { done.insert(range, services) }
        for range in Self.joined(completed, .previous) { try write(range, .all) }
        // A row of previous without an outcome may have moved to a bucket of current that is done
        // by now: a crash must repeat that bucket.
        let isComplete = done.previous.completeServices
        if isComplete != wasComplete {
            let all = BucketRange(.current, first: 0, last: UInt32(BucketBitmap.buckets - 1))
            try write(all, isComplete)
        } else if !isComplete.isEmpty {
            for range in Self.joined(completed, .current) { try write(range, isComplete) }
        }
    }

    /// Ranges of one generation, neighbours in one: what lies between them is written once more,
    /// as it is, for less than another system call costs.
    private static func joined(
        _ completed: [CompletionTracker.Completed], _ generation: Generation
    ) -> [BucketRange] {
        completed.reduce(into: []) { joined, next in
            let range = next.range
            guard range.generation == generation else { return }
            if let last = joined.last, last.last < range.first,
                range.first - last.last <= nearBuckets
            {
                joined[joined.count - 1] = BucketRange(
                    generation, first: last.first, last: range.last)
            } else {
                joined.append(range)
            }
        }
    }

    private static let nearBuckets: UInt32 = 512

    private func write(_ range: BucketRange, _ services: ServiceSet) throws(FileError) {
        let (first, last) = (Int(range.first), Int(range.last))
        var changed = Array(done[range.generation].bytes[first...last])
        if services != .all {
            for index in changed.indices { changed[index] &= services.rawValue }
        }
        try file.write(changed.span, at: Self.offset(of: range.generation) + first)
    }

    /// Forgets what is done but not written, as a crash would.
    mutating func rewind(for services: ServiceSet = .all) { done.forgetCurrent(of: services) }

    /// Writes the counters beside the bits, which they may lag behind after a crash.
    mutating func save(_ counters: RunCounters) throws(FileError) {
        self.counters = counters
        let bytes = counters.encode()
        try file.write(bytes.span, at: Self.countersOffset)
    }

    /// Makes everything written so far outlive the machine, too; for a thread that may block.
    var flush: @Sendable () -> Void {
        let file = file
        return { try? file.synchronize() }
    }

    private static let magic = Array("RVLCHECK".utf8)
    private static let version: UInt8 = 2
    private static let headerBytes = 40
    private static let countersOffset = 128
    private static let bitmapsOffset = 4096
    static let byteCount = bitmapsOffset + 2 * BucketBitmap.buckets

    private static func offset(of generation: Generation) -> Int {
        generation == .previous ? bitmapsOffset : bitmapsOffset + BucketBitmap.buckets
    }

    private init(_ header: Header, _ file: OpenFile) {
        self.header = header
        self.file = file
    }

    private static func encode(_ header: Header) -> [UInt8] {
        var bytes = magic + [version, header.reasons.rawValue, 0, 0, 0, 0, 0, 0]
        bytes.append(littleEndian: header.run)
        bytes.append(littleEndian: header.sequence)
        bytes.append(littleEndian: header.generation)
        return bytes + Blake2b.hash(bytes.span)
    }

    private init(decoding bytes: [UInt8], _ file: OpenFile) throws(Unusable) {
        self.file = file
        guard bytes.starts(with: Self.magic) else { throw .foreign }
        guard bytes.count == Self.byteCount else { throw .damaged }
        guard bytes[Self.magic.count] == Self.version else { throw .otherVersion }
        let countersEnd = Self.countersOffset + RunCounters.byteCount
        let checksumEnd = Self.headerBytes + 32
        let checksum = Blake2b.hash(bytes.span.extracting(0..<Self.headerBytes))
        guard checksum.elementsEqual(bytes[Self.headerBytes..<checksumEnd]),
            bytes.span.isZero(checksumEnd..<Self.countersOffset),
            bytes.span.isZero(countersEnd..<Self.bitmapsOffset)
        else { throw .damaged }
        header = Header(
            run: bytes.span.littleEndian(at: 16), sequence: bytes.span.littleEndian(at: 24),
            reasons: BroadcastReasons(rawValue: bytes[9]),
            generation: bytes.span.littleEndian(at: 32))
        let current = Self.offset(of: .current)
        counters = RunCounters(decoding: bytes.span.extracting(Self.countersOffset..<countersEnd))
        done = CompletedBuckets(
            previous: BucketBitmap(bytes[Self.bitmapsOffset..<current]),
            current: BucketBitmap(bytes[current...]))
    }
}

/// The place of the checkpoint in the data directory. What blocks is done on a thread of its own.
struct CheckpointFile: Sendable {
    let path: String
    private static let queue = DispatchQueue(label: "checkpoint-file")

    func find() -> Checkpoint? { (try? Checkpoint.open(path)) ?? nil }

    func create(_ header: Checkpoint.Header) async -> Checkpoint? {
        await Self.queue.result { try? Checkpoint.create(path, header) }
    }

    /// Removes the checkpoint of an ended run. A file that stays is recognised by its run's number.
    func remove() async { await Self.queue.result { try? Checkpoint.remove(path) } }
}

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
    /// Messages to topics that a push service accepted.
    package var topics: UInt64 = 0
    /// Rows that were read and wait for their gateway; at the end they are `unsent`.
    package var deferred: UInt64 = 0
    /// Times that a push may have arrived although its outcome is unknown.
    package var uncertain: UInt64 = 0

    package init() {}
    /// Push tokens that had their push, each counted once.
    package var sent: UInt64 { accepted &+ gone &+ abandoned }
    /// Pushes that should have been accepted: all but those to push tokens that are gone.
    package var asked: UInt64 { accepted &+ abandoned &+ unsent &+ deferred }

    /// Counts a row that needs no other pass.
    mutating func read(isAgain: Bool) {
        if isAgain, deferred > 0 { deferred -= 1 } else { rows += 1 }
    }

    /// As saved: what a stop leaves in flight or deferred is read, and counted, again.
    func saved(inFlight: Int) -> RunCounters {
        var counters = self
        counters.rows -= min(rows, UInt64(inFlight) + deferred)
        counters.deferred = 0
        return counters
    }

    /// Settles what was deferred: deleted while it waited when the run is whole, not sent if not.
    mutating func end(isWhole: Bool, inFlight: Int) {
        if isWhole { rows -= min(rows, deferred) } else { unsent += deferred + UInt64(inFlight) }
        deferred = 0
    }

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

    private static let fields: [any WritableKeyPath<RunCounters, UInt64> & Sendable] = [
        \.rows, \.accepted, \.gone, \.deleted, \.retried, \.abandoned, \.unsent, \.unserved,
        \.duplicates, \.milliseconds, \.tripped, \.topics, \.deferred, \.uncertain,
    ]

    static let byteCount = 14 * 8

    func encode() -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Self.byteCount)
        for field in Self.fields { bytes.append(littleEndian: self[keyPath: field]) }
        return bytes
    }

    /// Counts that no run has, such as those of an erased block of flash, begin at zero: they have
    /// no checksum, and must not overflow.
    init(decoding bytes: Span<UInt8>) {
        precondition(bytes.count == Self.byteCount)
        var counters = RunCounters()
        for (index, field) in Self.fields.enumerated() {
            counters[keyPath: field] = bytes.littleEndian(at: 8 * index)
        }
        let isPossible = Self.fields.allSatisfy { counters[keyPath: $0] <= 1 << 53 }
        self = isPossible ? counters : RunCounters()
    }
}
