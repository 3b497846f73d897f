import Reveille
import Synchronization
package import WakeFeed
package import WakeFetch
package import WakeModel
package import WakePublish
import WakeSystem

/// A real feed in a real directory, served to a simulated network, with tampering on the way.
public final class SimulatedFeed: Sendable {
    /// Changes an answer on its way; nil lets it pass.
    package typealias Tamper = @Sendable (_ path: String, [UInt8]) -> SimulatedNetwork.Answer?

    private struct State {
        var tamper: Tamper?
        var keysTamper: Tamper?
        var secretsPublished = 0
    }

    package let directory: String
    package let key: SigningKey
    private let time: SimulatedTime
    private let settings: FeedSettings
    private let state = Mutex(State())

    package init(
        _ directory: String, _ time: SimulatedTime, keySeed: UInt8 = 1,
        settings: FeedSettings = FeedSettings(pollSeconds: 3600, spreadSeconds: 0)
    ) throws {
        self.directory = directory
        self.time = time
        self.settings = settings
        let seed = [UInt8](repeating: keySeed, count: 32)
        key = SigningKey(seed: seed.span)
        try FeedDirectory.create(directory, key: key, settings: settings, now: time.wall)
    }

    package var feedKey: FeedKey { FeedKey(key.verifyingKey) }

    /// Of head and batches.
    package func tamper(_ tamper: Tamper?) { state.withLock { $0.tamper = tamper } }

    /// Of the file `keys`.
    package func tamperKeys(_ tamper: Tamper?) { state.withLock { $0.keysTamper = tamper } }

    /// Publishes one batch with these secrets, 16 to 1024 bytes each, among others that nobody has,
    /// and with a note for the holders of any of them. Returns the number of the batch.
    @discardableResult
    public func publish(_ secrets: [[UInt8]], note: String? = nil) throws -> UInt64 {
        try publish(secrets, note: note, digests: 1024)
    }

    /// Publishes a batch in which nobody finds anything.
    public func publishCover() throws { try publishCover(digests: 1024) }

    /// Says in the next head that wakes are to be ignored for this long, 72 hours at most.
    public func pauseWakes(for duration: Duration) throws {
        try resign(
            FeedSettings(
                pollSeconds: settings.pollSeconds, spreadSeconds: settings.spreadSeconds,
                flags: .paused, pauseSeconds: UInt32(clamping: duration.wholeSeconds)))
    }

    /// Says in the next head that nothing will ever be published again.
    public func retire() throws {
        try resign(
            FeedSettings(
                pollSeconds: settings.pollSeconds, spreadSeconds: settings.spreadSeconds,
                flags: .retired))
    }

    /// What somebody on the way, or a broken server, does to the feed.
    public enum Fault: Sendable {
        /// Every head has a wrong signature, as a captive portal's page has none.
        case unsigned
        /// Heads come, and no batch.
        case batchesMissing
        /// Heads come, and every batch is damaged.
        case batchesDamaged
        /// The server is out of order: 503.
        case outOfOrder
    }

    /// Serves the feed with a fault, or with nil as it is.
    public func serve(with fault: Fault?) {
        guard let fault else { return tamper(nil) }
        tamper { path, bytes in
            // Of a head the end of a field that its signature covers.
            var damaged = bytes
            if !damaged.isEmpty { damaged[min(255, damaged.count - 1)] ^= 1 }
            let isBatch = path.hasPrefix("b/")
            return switch fault {
            case .outOfOrder: .init(status: 503)
            case .unsigned where path == "head", .batchesDamaged where isBatch:
                .init(body: damaged)
            case .batchesMissing where isBatch: .init(status: 404)
            default: nil
            }
        }
    }

    /// As `publish(_:note:)`. A batch's size is a matter of chance: for two feeds of the same size
    /// their `random` bytes must be the same.
    @discardableResult
    package func publish(
        _ secrets: [[UInt8]], note: String? = nil, digests: Int = 1024, again: Bool = false,
        random: RandomSource = .system
    ) throws -> UInt64 {
        let lines = secrets.map { Hex.encode($0.span) + [0x0A] }.flatMap(\.self)
        let input = try FeedInput(secretsFrom: lines, notes: note.map { Array("\($0)\n".utf8) })
        return try FeedPublisher(directory: directory, key: key, random: random).publish(
            input, options: PublishOptions(minimumDigests: digests, again: again), now: time.wall
        ).sequence
    }

    package func publishCover(digests: Int) throws {
        try FeedPublisher(directory: directory, key: key).publishCover(
            options: PublishOptions(minimumDigests: digests), now: time.wall)
    }

    package func resign(_ settings: FeedSettings) throws {
        try FeedPublisher(directory: directory, key: key).resign(
            settings: settings, now: time.wall)
    }

    /// Bytes of the newest batch.
    package func newestBytes() throws -> Int {
        let head = try head
        guard let name = head.batchName(for: head.sequence) else { return 0 }
        return Int(try FileStatus(of: directory + "/b/" + name).size)
    }

    package var head: FeedHead {
        get throws { try FeedDirectory(directory).head(feedKey) }
    }

    package func route(_ request: FetchRequest) -> SimulatedNetwork.Answer? {
        let text = String(decoding: request.url.bytes, as: UTF8.self)
        guard let found = text.firstRange(of: "/feed/") else { return .init(status: 404) }
        let path = String(text[found.upperBound...])
        guard let bytes = try? Files.read(directory + "/" + path, limit: 1 << 24) else {
            return .init(status: 404)
        }
        let tamper = state.withLock { path == "keys" ? $0.keysTamper : $0.tamper }
        if let answer = tamper?(path, bytes) { return answer }
        return .init(body: bytes)
    }
}
