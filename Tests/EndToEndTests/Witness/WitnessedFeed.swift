import Foundation
import TestSupport

/// A feed on a site, and witnesses that cosign its log: all of them the programs that ship.
final class WitnessedFeed {
    let site: FeedSite
    let witnesses: [WitnessUnderTest]
    private let directory: TemporaryDirectory
    /// What clients and monitors name.
    let policy: String

    /// - Parameters:
    ///   - count: witnesses.
    ///   - quorum: how many of them have to cosign.
    init(witnesses count: Int = 1, quorum: Int = 1) async throws {
        site = try await FeedSite()
        directory = try TemporaryDirectory()
        let shown = try await RunningProgram.run(
            "reveille", ["feed", "key", "--feed", site.feed, "--key", site.keyFile])
        let log = try ServiceUnderTest.word(after: "log key: ", in: shown.output)
        var made: [WitnessUnderTest] = []
        for _ in 0..<count { made.append(try await WitnessUnderTest(logs: [log])) }
        witnesses = made
        let lines = made.enumerated().map { place, witness in
            "witness w\(place) \(witness.key) http://127.0.0.1:\(witness.port)"
        }
        let names = made.indices.map { "w\($0)" }.joined(separator: " ")
        let text = lines + ["group all \(quorum) \(names)", "quorum all", ""]
        policy = directory.path + "/policy"
        try text.joined(separator: "\n").write(toFile: policy, atomically: true, encoding: .utf8)
    }

    /// Runs a command that signs a head of this feed, or of a copy of it.
    /// - Parameter witnessed: whether the witnesses are asked.
    func feed(
        _ words: String..., in feed: String? = nil, witnessed: Bool = true, input: String = ""
    ) async throws -> (status: Int32, output: String) {
        let place = ["--feed", feed ?? site.feed, "--key", site.keyFile]
        return try await RunningProgram.run(
            "reveille",
            ["feed"] + words + place + (witnessed ? ["--witnesses", policy] : []),
            input: Array(input.utf8))
    }

    /// Publishes a secret in hexadecimal.
    func publish(
        _ secret: String = TestDevice().pushText, in feed: String? = nil, witnessed: Bool = true
    ) async throws {
        let answer = try await self.feed(
            "publish", "-", "--secrets", in: feed, witnessed: witnessed, input: secret)
        guard answer.status == 0 else { throw TestFailure(answer.output) }
    }
}
