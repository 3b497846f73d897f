import Glibc
import Synchronization
import WakeFeed
import WakeFiles
import WakeHTTP

/// The feed's directory as this service serves it: the head from memory, refreshed whenever the
/// publisher replaced the file; batches straight from the file system.
final class FeedSite: Sendable {
    private let directory: String
    private let log: Log
    private let headFields: [(StaticString, String)]
    private let cached = Mutex<Cached?>(nil)

    private struct Cached {
        let identity: FileStatus.Identity
        let sequence: UInt64
        let spreadSeconds: Int
        /// nil when the file is no head.
        let response: Response?
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

    /// The head as a response; nil while no feed is published or it cannot be read.
    func head() -> Response? { current()?.response }

    /// The newest sequence; 0 with no feed.
    var sequence: UInt64 { current()?.sequence ?? 0 }

    /// The spread of fetches that clients are told; 0 with no feed.
    var spreadSeconds: Int { current()?.spreadSeconds ?? 0 }

    /// Opens a batch by its name in a request.
    /// - Returns: nil when the name is not of a batch's form or there is none.
    func batch(named name: ArraySlice<UInt8>) -> (file: WakeHTTP.OpenFile, size: Int)? {
        guard Self.isBatchName(name) else { return nil }
        let path = directory + "/b/" + String(decoding: name, as: UTF8.self)
        guard let file = try? WakeFiles.OpenFile(path, flags: O_RDONLY),
            let status = try? file.status(), status.isRegular
        else { return nil }
        let descriptor = dup(file.descriptor)
        guard descriptor >= 0 else { return nil }
        return (WakeHTTP.OpenFile(owning: descriptor), status.size)
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
        guard let bytes = try? Files.read(path, limit: FeedLimits.headBytes),
            let sequence = FeedHead.sequence(ofUnverified: bytes.span)
        else {
            return Cached(identity: identity, sequence: 0, spreadSeconds: 0, response: nil)
        }
        let spread = FeedHead.spreadSeconds(ofUnverified: bytes.span)
        let response = Response(200, fields: headFields, body: .bytes(bytes))
        return Cached(
            identity: identity, sequence: sequence, spreadSeconds: Int(spread), response: response)
    }

    /// `00000000000000001842-9c1f0a77e3b25d41`: 20 digits, a hyphen, 16 hexadecimal digits.
    private static func isBatchName(_ name: ArraySlice<UInt8>) -> Bool {
        guard name.count == 37 else { return false }
        return name.enumerated().allSatisfy { index, byte in
            switch index {
            case 0..<20: (0x30...0x39).contains(byte)
            case 20: byte == UInt8(ascii: "-")
            default: (0x30...0x39).contains(byte) || (0x61...0x66).contains(byte)
            }
        }
    }
}
