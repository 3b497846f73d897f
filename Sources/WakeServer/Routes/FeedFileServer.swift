import Glibc
import Synchronization
import WakeFeed
import WakeFetch
import WakeHTTP
import WakePublish
import WakeSystem

/// The feed's files: head and keys from memory, read again when they were replaced, the batches
/// from disk.
final class FeedFileServer: Sendable {
    private let directory: String
    private let cachedHead: CachedFile<Head>
    private let cachedKeys: CachedFile<Response?>
    private let cachedGatewayKeys: CachedFile<Response?>
    private let cachedCheckpoint: CachedFile<Response?>
    /// The batches and tiles that are being sent, by path: one descriptor each, however many
    /// clients ask.
    private let opened = Mutex<[String: Opened]>([:])

    fileprivate struct Head: Sendable {
        var sequence: UInt64 = 0
        var spreadSeconds = 0
        var times: FeedHeadTimes?
        /// nil when the file is no head.
        var response: Response?
    }

    private struct Opened {
        weak let file: OpenFile?
        let size: Int
    }

    /// Batches that are sent at once, and the descriptors for them.
    static let batchesAtOnce = FeedLimits.retainedBatches

    /// - Parameter maxAge: seconds a cache may keep the head.
    init(directory: String, maxAge: Int, log: Log) {
        self.directory = directory
        let fields: [(StaticString, String)] = [
            ("Content-Type", "application/octet-stream"),
            ("Cache-Control", "public, max-age=\(maxAge)"),
            ("X-Content-Type-Options", "nosniff"),
        ]
        cachedHead = CachedFile(directory + "/head", limit: FeedLimits.headFileBytes) { bytes in
            let head = bytes.flatMap { Head($0, fields) } ?? Head()
            log(head.response == nil ? .feedUnreadable : .feedChanged(sequence: head.sequence))
            return head
        }
        cachedGatewayKeys = CachedFile(
            directory + "/ohttp-keys", limit: KeyConfiguration.longestList
        ) { bytes in
            let type = [(StaticString("Content-Type"), "\(KeyConfiguration.mediaType)")]
            return bytes.map { Response(200, fields: type + fields[1...], body: .bytes($0)) }
        }
        cachedKeys = CachedFile(directory + "/keys", limit: FeedLimits.keysBytes) { bytes in
            bytes.map { Response(200, fields: fields, body: .bytes($0)) }
        }
        // C2SP tlog-tiles: a checkpoint is UTF-8 text.
        let text = [("Content-Type", "text/plain; charset=utf-8")] + fields.dropFirst()
        cachedCheckpoint = CachedFile(
            directory + "/checkpoint", limit: FeedLimits.proofBytes
        ) { bytes in bytes.map { Response(200, fields: text, body: .bytes($0)) } }
    }

    private var currentHead: Head? { try? cachedHead.current() }
    func head() -> Response? { currentHead?.response }
    var sequence: UInt64 { currentHead?.sequence ?? 0 }
    var spreadSeconds: Int { currentHead?.spreadSeconds ?? 0 }
    var times: FeedHeadTimes? { currentHead?.times }

    /// The feed's keys, for the time a cache may keep the head; nil when there is no such file.
    /// - Throws: when there is no descriptor for it.
    func keys() throws(FileError) -> Response? { try cachedKeys.current() ?? nil }

    /// The newest checkpoint of the log of heads, as `keys`.
    func checkpoint() throws(FileError) -> Response? { try cachedCheckpoint.current() ?? nil }

    /// The keys of the gateway that the head names; otherwise as `keys`.
    func gatewayKeys() throws(FileError) -> Response? { try cachedGatewayKeys.current() ?? nil }

    /// Opens a batch; nil when the name is not of a batch's form or there is none.
    /// - Throws: when there is no descriptor for it.
    func batch(named name: ArraySlice<UInt8>) throws(FileError) -> (file: OpenFile, size: Int)? {
        let name = String(decoding: name, as: UTF8.self)
        return FeedHead.isBatchName(name) ? try open("b/" + name) : nil
    }

    /// Opens a tile of the log, or the beginning of the wider one that followed it; nil when the
    /// path is not of a tile's form or there is none.
    /// - Throws: when there is no descriptor for it.
    func tile(_ path: String) throws(FileError) -> (file: OpenFile, size: Int)? {
        guard let tile = LogTile(path: path) else { return nil }
        if let exact = try open(path) { return exact }
        guard let wider = wider(than: tile), let (file, size) = try open(wider.path) else {
            return nil
        }
        let part = try tile.byteCount { place throws(FileError) in
            try file.read(at: place, count: 2)
        }
        return part.flatMap { $0 <= size ? (file, $0) : nil }
    }

    /// A publisher removes partial tiles that others have followed.
    private func wider(than tile: LogTile) -> LogTile? {
        guard !tile.isFull else { return nil }
        if Files.exists(directory + "/" + tile.full.path) { return tile.full }
        let widths = (try? Files.names(in: directory + "/" + tile.full.path + ".p")) ?? []
        let width = widths.compactMap { Int($0) }
            .filter { (tile.width..<LogTile.width).contains($0) }.min()
        return width.map { LogTile(tile.content, index: tile.index, width: $0) }
    }

    private func open(_ name: String) throws(FileError) -> (file: OpenFile, size: Int)? {
        try opened.withLock { opened throws(FileError) in
            if let known = opened[name], let file = known.file { return (file, known.size) }
            opened = opened.filter { $0.value.file != nil }
            guard opened.count < Self.batchesAtOnce else { throw FileError(.open, EMFILE) }
            do throws(FileError) {
                let file = try OpenFile(directory + "/" + name, flags: O_RDONLY)
                let status = try file.status()
                guard status.isRegular else { return nil }
                opened[name] = Opened(file: file, size: status.size)
                return (file, status.size)
            } catch {
                guard !error.isExhaustion else { throw error }
                return nil
            }
        }
    }
}

extension FeedFileServer.Head {
    fileprivate init?(_ bytes: [UInt8], _ fields: [(StaticString, String)]) {
        guard let head = FeedHead(stored: bytes) else { return nil }
        self.init(
            sequence: head.sequence, spreadSeconds: Int(head.settings.spreadSeconds),
            times: FeedHeadTimes(
                issued: head.issued, expires: head.expires, pausedUntil: head.pausedUntil),
            response: Response(200, fields: fields, body: .bytes(bytes)))
    }
}

/// A small file in memory, read again when it was replaced.
private final class CachedFile<Value: Sendable>: Sendable {
    private let path: String
    private let limit: Int
    private let decode: @Sendable ([UInt8]?) -> Value
    private let cached = Mutex<(identity: FileStatus.Identity, value: Value)?>(nil)

    /// - Parameter decode: gets the bytes; nil when they cannot be read.
    init(_ path: String, limit: Int, decode: @escaping @Sendable ([UInt8]?) -> Value) {
        self.path = path
        self.limit = limit
        self.decode = decode
    }

    /// The file as it is now; nil when there is none.
    /// - Throws: when there is no descriptor to read it with. That says nothing of the file:
    ///   one from before is returned instead.
    func current() throws(FileError) -> Value? {
        guard let identity = try? FileStatus(of: path).identity else { return nil }
        return try cached.withLock { cached throws(FileError) in
            if let cached, cached.identity == identity { return cached.value }
            let bytes: [UInt8]?
            do throws(FileError) {
                bytes = try Files.read(path, limit: limit)
            } catch {
                if error.isExhaustion, let cached { return cached.value }
                guard !error.isExhaustion else { throw error }
                bytes = nil
            }
            let value = decode(bytes)
            cached = (identity, value)
            return value
        }
    }
}
