import Foundation
import ReveilleTesting
import Synchronization
import TestSupport
import Testing
import WakeFeed
import WakeFetch
import WakeModel
import WakePublish
import WakeSystem

@testable import Reveille

/// Random histories of `Vectors/pasts.py`, which was written from Policy/FEED.md alone: rollbacks,
/// forks, thieves, lost batches, proofs. The client starts again before each check.
@Suite(
    "Clients with a past, by another implementation",
    .enabled(if: PythonScript.has("cryptography"), "needs python3 with the cryptography package"),
    .timeLimit(.minutes(20)))
struct PastsTests {
    private static let count =
        ProcessInfo.processInfo.environment["REVEILLE_LONG"] == nil ? 100 : 5000
    private static let tranche = 250

    @Test("a client says of each check what Policy/FEED.md says")
    func histories() async throws {
        var seen: [String: Int] = [:]
        for start in stride(from: 0, to: Self.count, by: Self.tranche) {
            let directory = try Scratch()
            let count = min(Self.tranche, Self.count - start)
            let (status, output) = try await RunningProgram.run(
                path: "/usr/bin/env",
                [
                    "python3", "-B",
                    Repository.absolute("Tests/WakeFeedTests/Vectors/pasts.py"), "make",
                    String(start + 1), String(count), directory.path,
                ])
            guard status == 0 else { throw TestFailure(output) }
            for number in 0..<count {
                for step in try Past(directory.path + "/\(number)").play() {
                    #expect(step.said == step.expected, "history \(number) of \(start + 1)")
                    let kind = step.said.first.map { String($0.prefix { $0 != " " }) } ?? ""
                    seen[kind + (step.said.first ?? ""), default: 0] += 1
                }
            }
        }
        // Neither all refused nor all accepted, nor for a few reasons only.
        #expect(seen.count > 8, "\(seen)")
    }

    @Test("so it does of the histories that are kept as vectors")
    func vectors() throws {
        let folder = Repository.absolute("Tests/WakeFeedTests/Vectors/pasts")
        let names = try Files.names(in: folder).filter { $0 != "b" }
        #expect(names.count > 8)
        for name in names {
            for step in try Past(folder + "/" + name).play() {
                #expect(step.said == step.expected, "\(name)")
            }
        }
    }
}

/// The files of one history, as they are at one of its checks.
private final class Host: Sendable {
    private let folder: String
    private let step = Mutex(0)

    init(_ folder: String) { self.folder = folder }

    func advance() { step.withLock { $0 += 1 } }

    func file(_ name: String) -> [UInt8]? {
        try? Files.read(folder + "/" + name, limit: 8 << 20)
    }

    func text(_ name: String) -> String? {
        file(name).map { String(decoding: $0, as: UTF8.self) }
    }

    /// A file of this check.
    func now(_ name: String) -> [UInt8]? { file("\(step.withLock { $0 })/" + name) }

    var wall: Int64 { now("now").flatMap { Int64(String(decoding: $0, as: UTF8.self)) } ?? 0 }

    func route(_ request: FetchRequest) -> SimulatedNetwork.Answer? {
        let path = String(decoding: request.url.bytes, as: UTF8.self).split(separator: "/")
        guard let name = path.last.map(String.init) else { return nil }
        guard path.dropLast().last == "b" else { return .init(body: now(name) ?? []) }
        let withheld = now("withheld").map { String(decoding: $0, as: UTF8.self) }
        guard withheld != name, let bytes = now("b/" + name) ?? file("../b/" + name) else {
            return .init(status: 404)
        }
        return .init(body: bytes)
    }
}

/// One history, and the client that lives it.
private struct Past {
    private let scratch: Scratch
    private let time = SimulatedTime(seed: 1)
    private let host: Host
    private let network: SimulatedNetwork
    private let secrets = DeviceSecrets()
    private let handler: RecordingHandler

    init(_ folder: String) throws {
        scratch = try Scratch()
        let host = Host(folder)
        self.host = host
        network = SimulatedNetwork(time) { host.route($0) }
        handler = RecordingHandler(time)
        for (index, line) in (host.text("secrets") ?? "").split(separator: "\n").enumerated() {
            secrets.add(String(index), Hex.decode(Array(line.utf8).span) ?? [])
        }
    }

    /// What was said of each check and what should have been: an error or none, the matches so
    /// far, and what is unchecked.
    func play() throws -> [(said: [String], expected: [String])] {
        var result: [(said: [String], expected: [String])] = []
        var rest = (host.text("result") ?? "").split(separator: "\n")[...]
        var key = host.file("key")
        var (matches, isForked): (Set<String>, Bool) = ([], false)
        while let head = rest.popFirst() {
            key = host.now("key") ?? key
            var expected = [head.hasPrefix("head") ? "head" : Self.name(head)]
            if head.hasPrefix("head") {
                while let line = rest.popFirst() {
                    let words = line.split(separator: " ").map(String.init)
                    guard words[0] != "unchecked" else {
                        expected.append(String(line))
                        break
                    }
                    if words[1] == "match" { matches.insert("\(words[2]) \(words[3])") }
                    if words[1] == "fork" { expected[0] = "head fork" }
                }
            }
            expected += matches.sorted()
            let said = try check(with: FeedKey(bytes: #require(key)))
            // Which batches are checked before a second history is met is the client's affair.
            isForked = isForked || expected[0] == "head fork"
            result.append(
                isForked ? ([said[0]], [expected[0]]) : (said, expected))
            host.advance()
        }
        return result
    }

    private func check(with key: FeedKey?) throws -> [String] {
        try time.run {
            var configuration = ClientConfiguration(
                feed: "https://feed.example/feed/", feedKey: try #require(key).text,
                service: "https://wake.example", channel: .poll,
                stateDirectory: scratch.path + "/state", cacheDirectory: scratch.path + "/cache")
            configuration.witnesses = host.text("policy")
            let client = try WakeClient(
                configuration, secrets: secrets, handler: handler, environment: environment)
            let start = network.traces.count
            var said = ["head"]
            do throws(ClientError) { try await client.synchronize() } catch {
                // Of a batch only where one was asked for.
                let isOfBatch = network.traces[start...].contains { $0.path.contains("/b/") }
                said = isOfBatch ? [error == .fork ? "head fork" : "head"] : ["refused \(error)"]
            }
            if said[0].hasPrefix("head") {
                let left = await client.uncheckedNumbers
                said.append(left.reduce("unchecked") { "\($0) \($1)" })
            }
            return said + handler.matches.map { "\($0.secretID) \($0.id.text)" }.sorted()
        }
    }

    private var environment: ClientEnvironment {
        ClientEnvironment(
            transport: { [network] (_) throws(FetchError) in network },
            wallSeconds: { [host] in host.wall }, uptime: { [time] in time.now },
            sleep: { [time] in await time.sleep($0) },
            resumes: ResumeNotifier { [time] in time.observe($0) },
            randomUnit: { [time] in time.randomUnit() },
            randomBytes: { [time] in time.randomBytes($0) },
            executor: { [time] in time.executor }, appExecutor: { [time] in time.tasks })
    }

    /// The error of the library: some of Policy/FEED.md's are one there.
    private static func name(_ refusal: Substring) -> String {
        let error = String(refusal.dropFirst("refused ".count))
        if error.hasPrefix("malformedHead") { return "refused protocolViolation" }
        guard error.hasPrefix("proof(") else { return "refused \(error)" }
        let fault = String(error.dropFirst(6).dropLast())
        let names = ["malformed": "missing", "badSignature": "otherLog"]
        return "refused unwitnessed(Reveille.ClientError.ProofFault.\(names[fault] ?? fault))"
    }
}

extension WakeClient {
    /// What a head named and was not checked.
    fileprivate var uncheckedNumbers: [UInt64] {
        let record = profile.record
        return record.missing.sequences + (record.sequence + 1..<record.newestNamed + 1)
    }
}
