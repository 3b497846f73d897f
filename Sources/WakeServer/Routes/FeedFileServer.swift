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

    private struct Cached {
        let identity: FileStatus.Identity
        var sequence: UInt64 = 0
        var spreadSeconds = 0
        /// nil when the file is no head.
        var response: Response?
    }

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
    func batch(named name: ArraySlice<UInt8>) -> (file: OpenFile, size: Int)? {
        let name = String(decoding: name, as: UTF8.self)
        guard FeedHead.isBatchName(name) else { return nil }
        let path = directory + "/b/" + name
        guard let file = try? OpenFile(path, flags: O_RDONLY),
            let status = try? file.status(), status.isRegular
        else { return nil }
        return (file, status.size)
    }

    private func current() -> Cached? {
        let path = directory + "/head"
        guard let identity = try? FileStatus(of: path).identity else { return nil }
        return cached.withLock { cached in
            if let cached, cached.identity == identity { return cached }
            let fresh = read(path, identity)
            log(fresh.response == nil ? .feedUnreadable : .feedChanged(sequence: fresh.sequence))
            cached = fresh
            return fresh
        }
    }

    private func read(_ path: String, _ identity: FileStatus.Identity) -> Cached {
        var fresh = Cached(identity: identity)
        guard let bytes = try? Files.read(path, limit: FeedLimits.headBytes),
            let sequence = FeedHead.sequence(ofUnverified: bytes.span)
        else { return fresh }
        fresh.sequence = sequence
        fresh.spreadSeconds = Int(FeedHead.spreadSeconds(ofUnverified: bytes.span))
        fresh.response = Response(200, fields: headFields, body: .bytes(bytes))
        return fresh
    }
}
