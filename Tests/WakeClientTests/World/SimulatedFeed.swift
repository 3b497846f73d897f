import Synchronization
import WakeFeed
import WakeFetch
import WakeModel
import WakeSodium
import WakeSystem

/// A real feed in a real directory, served to a simulated network, with tampering on the way.
final class SimulatedFeed: Sendable {
    /// Changes an answer on its way; nil lets it pass.
    typealias Tamper = @Sendable (_ path: String, [UInt8]) -> SimulatedNetwork.Answer?

    private struct State {
        var tamper: Tamper?
        var keysTamper: Tamper?
        var secretsPublished = 0
    }

    let directory: String
    let key: SigningKey
    private let time: SimulatedTime
    private let state = Mutex(State())

    init(
        _ directory: String, _ time: SimulatedTime, keySeed: UInt8 = 1,
        settings: FeedSettings = FeedSettings(pollSeconds: 3600, spreadSeconds: 0)
    ) throws {
        self.directory = directory
        self.time = time
        let seed = [UInt8](repeating: keySeed, count: 32)
        key = SigningKey(seed: seed.span)
        try FeedDirectory.create(directory, key: key, settings: settings, now: time.wall)
    }

    var feedKey: FeedKey { FeedKey(key.verifyingKey) }

    /// Of head and batches.
    func tamper(_ tamper: Tamper?) { state.withLock { $0.tamper = tamper } }

    /// Of the file `keys`.
    func tamperKeys(_ tamper: Tamper?) { state.withLock { $0.keysTamper = tamper } }

    /// Publishes one batch with these secrets among decoys. Its size is a matter of chance: for two
    /// feeds of the same size their `random` bytes must be the same.
    @discardableResult
    func publish(
        _ secrets: [[UInt8]], note: String? = nil, digests: Int = 1024, again: Bool = false,
        random: RandomSource = .system
    ) throws -> UInt64 {
        let lines = secrets.map { Hex.encode($0.span) + [0x0A] }.flatMap(\.self)
        let input = try FeedInput(secretsFrom: lines, notes: note.map { Array("\($0)\n".utf8) })
        return try FeedPublisher(directory: directory, key: key, random: random).publish(
            input, options: PublishOptions(minimumDigests: digests, again: again), now: time.wall
        ).sequence
    }

    func publishCover(digests: Int = 1024) throws {
        try FeedPublisher(directory: directory, key: key).publishCover(
            options: PublishOptions(minimumDigests: digests), now: time.wall)
    }

    func resign(_ settings: FeedSettings) throws {
        try FeedPublisher(directory: directory, key: key).resign(
            settings: settings, now: time.wall)
    }

    /// Bytes of the newest batch.
    func newestBytes() throws -> Int {
        let head = try head
        guard let name = head.batchName(for: head.sequence) else { return 0 }
        return Int(try FileStatus(of: directory + "/b/" + name).size)
    }

    var head: FeedHead {
        get throws { try FeedDirectory(directory).head(feedKey) }
    }

    func route(_ request: FetchRequest) -> SimulatedNetwork.Answer? {
        let text = String(decoding: request.url.bytes, as: UTF8.self)
        guard let found = text.range(of: "/feed/") else { return .init(status: 404) }
        let path = String(text[found.upperBound...])
        guard let bytes = try? Files.read(directory + "/" + path, limit: 1 << 24) else {
            return .init(status: 404)
        }
        let tamper = state.withLock { path == "keys" ? $0.keysTamper : $0.tamper }
        if let answer = tamper?(path, bytes) { return answer }
        return .init(body: bytes)
    }
}

extension String {
    /// Without Foundation.
    func range(of other: String) -> Range<String.Index>? {
        var start = startIndex
        while start < endIndex {
            if self[start...].hasPrefix(other) {
                return start..<index(start, offsetBy: other.count)
            }
            start = index(after: start)
        }
        return nil
    }
}
