import Glibc
import Synchronization
import WakeFeed
import WakeHTTP
import WakeSystem

/// The feed's files: the head from memory, read again when it was replaced, batches from disk.
final class FeedFileServer: Sendable {
    private let directory: String
    private let log: Log
    private let headFields: [(StaticString, String)]
    private let cached = Mutex<Cached?>(nil)
    /// The batches that are being sent, by name: one descriptor each, whoever asks.
    private let opened = Mutex<[String: Opened]>([:])

    private struct Cached {
        let identity: FileStatus.Identity
        var sequence: UInt64 = 0
        var spreadSeconds = 0
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
        self.log = log
        headFields = [
            ("Content-Type", "application/octet-stream"),
            ("Cache-Control", "public, max-age=\(maxAge)"),
            ("X-Content-Type-Options", "nosniff"),
        ]
    }

    func head() -> Response? { current()?.response }
    var sequence: UInt64 { current()?.sequence ?? 0 }
    var spreadSeconds: Int { current()?.spreadSeconds ?? 0 }

    /// Opens a batch; nil when the name is not of a batch's form or there is none.
    /// - Throws: when there is no descriptor for it.
    func batch(named name: ArraySlice<UInt8>) throws(FileError) -> (file: OpenFile, size: Int)? {
        let name = String(decoding: name, as: UTF8.self)
        guard FeedHead.isBatchName(name) else { return nil }
        return try opened.withLock { opened throws(FileError) in
            if let known = opened[name], let file = known.file { return (file, known.size) }
            opened = opened.filter { $0.value.file != nil }
            guard opened.count < Self.batchesAtOnce else { throw FileError(.open, EMFILE) }
            do throws(FileError) {
                let file = try OpenFile(directory + "/b/" + name, flags: O_RDONLY)
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

    private func current() -> Cached? {
        let path = directory + "/head"
        guard let identity = try? FileStatus(of: path).identity else { return nil }
        return cached.withLock { cached in
            if let cached, cached.identity == identity { return cached }
            // Out of descriptors says nothing of the file: the head from before is served on.
            guard let fresh = read(path, identity) else { return cached }
            log(fresh.response == nil ? .feedUnreadable : .feedChanged(sequence: fresh.sequence))
            cached = fresh
            return fresh
        }
    }

    private func read(_ path: String, _ identity: FileStatus.Identity) -> Cached? {
        var fresh = Cached(identity: identity)
        let bytes: [UInt8]
        do throws(FileError) {
            bytes = try Files.read(path, limit: FeedLimits.headBytes)
        } catch { return error.isExhaustion ? nil : fresh }
        guard let sequence = FeedHead.sequence(ofUnverified: bytes.span) else { return fresh }
        fresh.sequence = sequence
        fresh.spreadSeconds = Int(FeedHead.spreadSeconds(ofUnverified: bytes.span))
        fresh.response = Response(200, fields: headFields, body: .bytes(bytes))
        return fresh
    }
}
