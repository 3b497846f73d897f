private import Glibc
import Reveille
import TestSupport
import WakeFeed
import WakeFetch
import WakeSodium

/// What a policy of witnesses costs a client: CPU of whole cycles over HTTP with one and without,
/// in turns, and of what it is made of.
enum ProofBenchmark {
    private static let help = """
        usage: bench proof [--cycles 20] [--rounds 5] [--witnesses 3] [--directory DIR]

        A feed whose log has more heads than a proof reaches back, on a web server of its own
        (python3), and two clients of it, one with a policy of that many witnesses, which all have
        cosigned. Microseconds of CPU of this process for each cycle that finds nothing new, in
        turns, medians of the rounds; then of verifying the proof alone, and of the request for it
        alone, which clients without a policy make as well. A cycle takes two thirds of a second, as
        its requests are spaced.

        """

    private enum Failure: Error { case noServer, noProof }

    static func run(_ arguments: [String]) async -> Int32 {
        await Options(arguments, known: ["cycles", "rounds", "witnesses", "directory"])
            .run(help: help) { options in
                let place = StorePlace(in: options["directory"])
                let witnesses = options.number("witnesses", default: 3)
                let feed = try WitnessedFeed(place.path + "/feed", witnesses: witnesses)
                guard
                    // It writes a line for each request to its standard error.
                    let server = MeasuredProcess([
                        "sh", "-c", "exec python3 -u -m http.server 0 \"$@\" 2>/dev/null", "sh",
                        "--bind", "127.0.0.1", "--protocol", "HTTP/1.1", "--directory",
                        feed.directory,
                    ]), let line = server.line(beginning: "Serving HTTP"),
                    let port = line.split(separator: " ").compactMap({ Int($0) }).first
                else { throw Failure.noServer }
                defer { server.terminate() }
                let url = "http://127.0.0.1:\(port)/"
                let cycles = options.number("cycles", default: 20)
                try await compare(
                    feed, url, place.path, rounds: options.number("rounds", default: 5), cycles)
                try await alone(feed, url)
                return 0
            }
    }

    private static func compare(
        _ feed: WitnessedFeed, _ url: String, _ place: String, rounds: Int, _ cycles: Int
    ) async throws {
        let policies = [nil, feed.policy] as [String?]
        let clients = try policies.enumerated().map { arm, policy in
            let configuration = ClientConfiguration(
                feed: url, feedKey: feed.key.text, stateDirectory: "\(place)/state-\(arm)",
                cacheDirectory: "\(place)/cache-\(arm)", witnesses: policy)
            let secrets = SecretDirectory(stateDirectory: configuration.stateDirectory)
            return try WakeClient(configuration, secrets: secrets) { _ in
            } onWarning: { _ in
            }
        }
        // The first cycle fetches keys.
        for client in clients { try await client.synchronize() }
        var each: [[Double]] = [[], []]
        for round in 0..<rounds {
            for arm in round % 2 == 0 ? [0, 1] : [1, 0] {
                let watch = Stopwatch()
                for _ in 0..<cycles { try await clients[arm].synchronize() }
                each[arm].append(watch.processorSeconds * 1e6 / Double(cycles))
            }
        }
        let more = zip(each[0], each[1]).map { $1 - $0 }
        let ratios = zip(each[0], each[1]).map { $1 / $0 }
        print(
            "a cycle: \(Int(median(each[0]))) us of CPU without a policy, "
                + "\(Int(median(each[1]))) us with one, \(hundredths(median(ratios))) times "
                + "(\(hundredths(ratios.min() ?? 0)) to \(hundredths(ratios.max() ?? 0))), "
                + "\(Int(median(more))) us more")
    }

    private static func alone(_ feed: WitnessedFeed, _ url: String) async throws {
        let count = 500
        let (bytes, proof) = (try feed.head(), try feed.proof())
        let head = try HeadVerifier(cursor: FeedCursor(key: feed.key))
            .verify(bytes.span, now: feed.now)
        let policy = try WitnessPolicy(Array(feed.policy.utf8))
        let verifying = Stopwatch()
        for _ in 0..<count {
            _ = try HeadProofVerifier(policy: policy, cursor: nil)
                .verify(proof, of: bytes, head, now: feed.now)
        }
        let verified = verifying.processorSeconds * 1e6 / Double(count)
        let fetcher = try Fetcher(FetchConfiguration())
        let address = try FetchURL(url + "proof")
        let fetching = Stopwatch()
        for _ in 0..<count {
            let request = FetchRequest(address, limit: FeedLimits.proofBytes, purpose: .feed)
            guard try await fetcher.collect(request).1 == proof else { throw Failure.noProof }
        }
        let fetched = fetching.processorSeconds * 1e6 / Double(count)
        print(
            "verifying a proof of \(proof.count) bytes: \(Int(verified)) us; the request for it, "
                + "which all clients make: \(Int(fetched)) us")
    }

    /// A feed whose heads all witnesses have cosigned.
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

        func head() throws -> [UInt8] { try FeedDirectory(directory).headBytes() }

        func proof() throws -> [UInt8] {
            guard let proof = try FeedDirectory(directory).proofBytes() else {
                throw Failure.noProof
            }
            return proof
        }
    }
}
