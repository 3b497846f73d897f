import Dispatch
import Glibc
import WakeModel
import WakePush
import WakeSystem

/// The checkpoint of a broadcast run: a file from which the run continues after kill -9 or SIGTERM
/// at any point. 2,105,344 bytes, little-endian, never another size:
///
/// | offset | bytes | |
/// |---|---|---|
/// | 0 | 8 | `RVLCHECK` |
/// | 8 | 1 | version, 3 |
/// | 9 | 1 | reasons: 1 heartbeat, 2 asked, 4 watched |
/// | 10 | 1 | bits of the number of blocks, see ``ScanOrder`` |
/// | 11 | 5 | zeros |
/// | 16 | 8 | number of the run |
/// | 24 | 8 | sequence of the feed |
/// | 32 | 8 | number of the store's current generation |
/// | 40 | 8 | seed of the order |
/// | 48 | 32 | BLAKE2b-256 of the 48 bytes before |
/// | 80 | 4016 | zeros |
/// | 4096 | 16 * 256 | four copies of a ``RunPosition`` for each push service, without its list |
/// | 8192 | 16 * 131072 | their lists |
///
/// A copy is a number that is counted up, a CRC-32 of all that follows, and the numbers of the
/// position, each of 8 bytes. The newest one that is whole holds: a kill may cut one short. Two are
/// written in turn without a flush and outlive the process; the other two, in turn about once a
/// second and flushed, outlive a power cut, which repeats the pushes since, never a row without its
/// push.
///
/// Nothing in it is about a person: no token and no time, of an id 20 bits while its push has no
/// outcome.
struct Checkpoint: Sendable {
    /// The parameters of a run: fixed when it starts, the same after every resume.
    struct Header: Sendable, Equatable {
        let run: UInt64
        let sequence: UInt64
        let reasons: BroadcastReasons
        /// The store's current generation at the start: after a rotation it does not fit.
        let generation: UInt64
        let seed: UInt64
        let blockBits: UInt8

        var order: ScanOrder { ScanOrder(seed: seed, blockBits: blockBits) }
    }

    enum Unusable: Error, Equatable {
        case unreadable(FileError)
        case foreign
        case otherVersion
        case damaged
    }

    let header: Header
    /// As they were when the file was opened.
    let positions: [PushService: RunPosition]
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

    /// Writes one of the copies.
    fileprivate func write(
        _ position: RunPosition.Numbers, serial: UInt64, copy: Int, of service: PushService
    ) throws(FileError) {
        let list = Self.bytes(position.list)
        var bytes = Self.bytes(position.fixed)
        let checksum = CRC32.checksum((bytes + list).span)
        bytes = Self.bytes([serial, UInt64(checksum)]) + bytes
        let index = Self.index(of: service, copy)
        try file.write(list.span, at: Self.listsOffset + index * Self.listBytes)
        try file.write(bytes.span, at: Self.positionsOffset + index * Self.positionBytes)
    }

    private static func bytes(_ numbers: [UInt64]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(8 * numbers.count)
        for number in numbers { bytes.append(littleEndian: number) }
        return bytes
    }

    /// Makes everything written so far outlive the machine, too; for a thread that may block.
    fileprivate func flush() { try? file.synchronize() }

    /// The number of the newest copy.
    fileprivate let serials: [PushService: UInt64]

    private static let magic = Array("RVLCHECK".utf8)
    private static let version: UInt8 = 3
    private static let headerBytes = 48
    private static let positionsOffset = 4096
    private static let copies = 4
    private static let positionBytes = 256
    private static let listBytes = 8 * RunPosition.listLimit
    private static let listsOffset =
        positionsOffset + copies * PushService.allCases.count * positionBytes
    static let byteCount = listsOffset + copies * PushService.allCases.count * listBytes

    private static func index(of service: PushService, _ copy: Int) -> Int {
        copies * (Int(service.rawValue) - 1) + copy
    }

    private init(_ header: Header, _ file: OpenFile) {
        self.header = header
        self.file = file
        (positions, serials) = ([:], [:])
    }

    private static func encode(_ header: Header) -> [UInt8] {
        var bytes = magic + [version, header.reasons.rawValue, header.blockBits, 0, 0, 0, 0, 0]
        for number in [header.run, header.sequence, header.generation, header.seed] {
            bytes.append(littleEndian: number)
        }
        return bytes + Blake2b.hash(bytes.span)
    }

    private init(decoding bytes: [UInt8], _ file: OpenFile) throws(Unusable) {
        self.file = file
        guard bytes.starts(with: Self.magic) else { throw .foreign }
        guard bytes.count == Self.byteCount else { throw .damaged }
        guard bytes[Self.magic.count] == Self.version else { throw .otherVersion }
        let checksumEnd = Self.headerBytes + 32
        let checksum = Blake2b.hash(bytes.span.extracting(0..<Self.headerBytes))
        guard checksum.elementsEqual(bytes[Self.headerBytes..<checksumEnd]),
            bytes.span.isZero(checksumEnd..<Self.positionsOffset), (1...16).contains(bytes[10])
        else { throw .damaged }
        header = Header(
            run: bytes.span.littleEndian(at: 16), sequence: bytes.span.littleEndian(at: 24),
            reasons: BroadcastReasons(rawValue: bytes[9]),
            generation: bytes.span.littleEndian(at: 32), seed: bytes.span.littleEndian(at: 40),
            blockBits: bytes[10])
        var positions: [PushService: RunPosition] = [:]
        var serials: [PushService: UInt64] = [:]
        for service in PushService.allCases {
            for copy in 0..<Self.copies {
                guard let (serial, position) = Self.copy(Self.index(of: service, copy), in: bytes),
                    serial > serials[service, default: 0]
                else { continue }
                (positions[service], serials[service]) = (position, serial)
            }
        }
        (self.positions, self.serials) = (positions, serials)
    }

    private static func copy(_ index: Int, in bytes: [UInt8]) -> (UInt64, RunPosition)? {
        func numbers(_ start: Int, _ count: Int) -> [UInt64] {
            (0..<count).map { bytes.span.littleEndian(at: start + 8 * $0) }
        }
        let start = positionsOffset + index * positionBytes
        let fixed = numbers(start, 2 + RunPosition.Numbers.fixedCount)
        guard fixed[4] <= RunPosition.listLimit, fixed[5] <= RunPosition.listLimit - Int(fixed[4])
        else { return nil }
        let list = numbers(listsOffset + index * listBytes, Int(fixed[4] + fixed[5]))
        let position = RunPosition.Numbers(fixed: Array(fixed[2...]), list: list)
        let checksum = CRC32.checksum((Self.bytes(position.fixed) + Self.bytes(list)).span)
        guard fixed[1] == UInt64(checksum) else { return nil }
        return RunPosition(position).map { (fixed[0], $0) }
    }
}

/// Writes the position of one gateway while it runs. Used by one task.
struct PositionWriter {
    private let checkpoint: Checkpoint
    private let service: PushService
    private let log: Log
    private var serial: UInt64
    private var flushes = 0
    private var isWritable = true
    private var nextSave = UptimeInstant.now
    private var nextFlush = UptimeInstant.now
    /// Flushing blocks: never on a thread that others share.
    private static let flushQueue = DispatchQueue(label: "checkpoint-flush")

    /// How long a position may lag behind, at least, and how much longer than it takes to write it.
    private static let interval = Duration.milliseconds(2)
    private static let costFactor = 50
    /// How much of a run a power cut repeats at most.
    private static let flushInterval = Duration.seconds(1)

    init(_ checkpoint: Checkpoint, _ service: PushService, log: Log) {
        self.checkpoint = checkpoint
        self.service = service
        self.log = log
        serial = checkpoint.serials[service] ?? 0
    }

    /// Saves the position, unless that was done a moment ago.
    mutating func saveIfDue(_ position: () -> RunPosition.Numbers) {
        let now = UptimeInstant.now
        guard now >= nextSave else { return }
        save(position())
        let end = UptimeInstant.now
        nextSave = end + max(Self.interval, (end - now) * Self.costFactor)
    }

    /// A failed write is no reason to end the run: a crash would repeat what is not written.
    mutating func save(_ position: RunPosition.Numbers) {
        serial += 1
        let now = UptimeInstant.now
        let isFlushed = now >= nextFlush
        if isFlushed { flushes += 1 }
        let copy = isFlushed ? 2 + flushes % 2 : Int(serial % 2)
        do throws(FileError) {
            try checkpoint.write(position, serial: serial, copy: copy, of: service)
        } catch {
            if isWritable { log(.checkpointUnwritable) }
            isWritable = false
        }
        guard isFlushed else { return }
        nextFlush = now + Self.flushInterval
        Self.flushQueue.async { [checkpoint] in checkpoint.flush() }
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
