private import Glibc
import Reveille
import TestSupport
import WakeFeed
import WakeFetch
import WakeModel
import WakePublish

/// What a policy of witnesses costs a client.
enum WitnessRows {
    static let all: [Benchmark] = [cycle, verify]

    private static let witnesses = 3

    /// Cycles are two thirds of a second long, as their requests are spaced.
    private static let cycle = Benchmark(
        "cycle-witnessed",
        "a cycle that finds nothing new, with \(witnesses) witnesses",
        unit: "cycles", sizes: Sizes(10, full: 20, growth: nil), by: .processorTime
    ) { setting in
        let site = try WitnessedSite(in: setting.directory, witnesses: witnesses)
        let with = try await site.client("with", policy: site.feed.policy)
        let without = try await site.client("without", policy: nil)
        return [
            Arm(.ours, "reveille-client with a policy") { _ in
                try await site.cycles(of: with, setting.size)
            },
            Arm(.ceiling, "the same without one") { _ in
                try await site.cycles(of: without, setting.size)
            },
        ]
    }

    private static let verify = Benchmark(
        "proof-verify", "a proof of a head with \(witnesses) cosignatures, verified",
        unit: "proofs", sizes: Sizes(500, full: 2000, growth: 100), by: .processorTime
    ) { setting in
        let place = StorePlace(in: setting.directory)
        let feed = try WitnessedFeed(place.path + "/feed", witnesses: witnesses)
        let bytes = try FeedDirectory(feed.directory).headFile()
        let head = try HeadVerifier(cursor: FeedCursor(key: feed.key))
            .verify(bytes.span, now: feed.now)
        let policy = try WitnessPolicy(Array(feed.policy.utf8))
        let key = SigningKey(seed: Sodium.random(32).span)
        let signature = key.sign(bytes.span)
        return [
            Arm(.ours, "HeadProofVerifier") { _ in
                try measured(setting.size, in: place) {
                    _ = try HeadProofVerifier(policy: policy, cursor: nil)
                        .verify(bytes, of: head, now: feed.now)
                }
            },
            Arm(.ceiling, "as many Ed25519 signatures verified, and the log's") { _ in
                try measured(setting.size, in: place) {
                    for _ in 0...witnesses
                    where !key.verifyingKey.verifies(signature.span, of: bytes.span) {
                        throw BenchFailure("a signature is wrong")
                    }
                }
            },
        ]
    }

    /// - Parameter place: kept until the end.
    private static func measured(
        _ count: Int, in place: StorePlace, _ operation: () throws -> Void
    ) rethrows -> Measurement {
        let watch = Stopwatch()
        for _ in 0..<count { try operation() }
        return withExtendedLifetime(place) {
            Measurement(
                operations: count, seconds: watch.seconds, processorSeconds: watch.processorSeconds)
        }
    }
}

/// A web server of another process (python3) with a witnessed feed.
private struct WitnessedSite {
    private let place: StorePlace
    private let server: MeasuredProcess
    private let url: String
    let feed: WitnessedFeed

    init(in directory: String, witnesses: Int) throws {
        place = StorePlace(in: directory)
        feed = try WitnessedFeed(place.path + "/feed", witnesses: witnesses)
        guard
            let server = MeasuredProcess([
                "sh", "-c",
                "exec python3 -u -m http.server 0 --bind 127.0.0.1 --protocol HTTP/1.1 "
                    + "--directory \"$1\" 2>/dev/null",
                "sh", feed.directory,
            ]), let line = server.line(beginning: "Serving HTTP"),
            let port = line.split(separator: " ").compactMap({ Int($0) }).first
        else { throw BenchFailure("python3 serves no files") }
        self.server = server
        url = "http://127.0.0.1:\(port)/"
    }

    /// One that has made its first cycle, which fetches keys.
    func client(_ name: String, policy: String?) async throws -> WakeClient {
        let configuration = ClientConfiguration(
            feed: url, feedKey: feed.key.text, stateDirectory: "\(place.path)/\(name)",
            cacheDirectory: "\(place.path)/\(name)-cache", witnesses: policy)
        let client = try WakeClient(
            configuration,
            secrets: SecretDirectory(stateDirectory: configuration.stateDirectory))
        _ = try await client.synchronize()
        return client
    }

    func cycles(of client: WakeClient, _ count: Int) async throws -> Measurement {
        let watch = Stopwatch()
        for _ in 0..<count { _ = try await client.synchronize() }
        return Measurement(
            operations: count, seconds: watch.seconds, processorSeconds: watch.processorSeconds)
    }
}

/// A feed whose heads all witnesses have cosigned, and whose log has more heads than a proof
/// reaches back.
private struct WitnessedFeed {
    let directory: String
    let key: FeedKey
    let policy: String
    let now = Int64(time(nil))

    init(_ directory: String, witnesses count: Int) throws {
        self.directory = directory
        let signing = SigningKey(seed: Sodium.random(32).span)
        key = FeedKey(signing.verifyingKey)
        let signers = (0..<count).compactMap { place in
            NoteKeyName("witness.example/\(place)").map {
                NoteSigner(name: $0, key: SigningKey(seed: Sodium.random(32).span))
            }
        }
        let lines = signers.enumerated().map { place, signer in
            "witness w\(place) \(signer.verifier(.cosignature).text)\n"
        }
        let names = signers.indices.map { "w\($0)" }.joined(separator: " ")
        policy = lines.joined() + "group all all \(names)\nquorum all\n"
        let start = now - 80 * 60
        try FeedDirectory.create(directory, key: signing, now: start)
        let now = now
        let publisher = FeedPublisher(
            directory: directory, key: signing,
            witnesses: { submission throws(FeedDirectoryError) in
                signers.map { $0.cosign(submission.checkpoint.checkpoint.text, time: now) }
            })
        for minute in 1...70 { try publisher.resign(now: start + Int64(minute) * 60) }
    }
}
