import Foundation
import TestSupport
import Testing

/// The model of `Tests/Bench cluster` beside the real haproxy, with the lines of the shipped file.
@Suite(
    "The model of haproxy's consistent hashing",
    .enabled(if: ClusterUnderTest.isInstalled, "haproxy is not installed (apt: haproxy)"),
    .timeLimit(.minutes(5)))
struct HashRingTests {
    private static func shipped(_ word: String) throws -> String {
        let lines = try Repository.text("Deploy/cluster/haproxy.cfg").split(separator: "\n")
            .filter { $0.hasPrefix("    \(word) ") }
        let hashing = lines.filter { !$0.contains("leastconn") }
        return String(try #require(hashing.first))
    }

    /// haproxy before servers that answer with their own id, and nothing else.
    private func front(
        _ ids: [Int], _ directory: TemporaryDirectory, _ port: UInt16
    ) async throws -> RunningProgram {
        let weight = try Self.shipped("default-server").firstMatch(of: /weight (\d+)/)
        let servers = ids.map {
            "    server shard\($0) unix@\(directory.path)/\($0).sock id \($0)\n"
        }
        let answers = ids.map {
            """

            frontend shard\($0)
                bind unix@\(directory.path)/\($0).sock
                http-request return status 200 content-type text/plain string \($0)

            """
        }
        let text = """
            defaults
                mode http
                timeout connect 2s
                timeout client 60s
                timeout server 60s
                default-server weight \(try #require(weight?.1))

            frontend wake
                bind 127.0.0.1:\(port)
                default_backend shards

            backend shards
            \(try Self.shipped("balance"))
            \(try Self.shipped("hash-type"))
            \(servers.joined())
            """
        let path = directory.path + "/haproxy.cfg"
        try (text + answers.joined()).write(toFile: path, atomically: true, encoding: .utf8)
        let program = try RunningProgram(
            path: ClusterUnderTest.haproxy, ["-W", "-db", "-f", path])
        _ = try await program.line(containing: "Loading success")
        return program
    }

    @Test(
        "each of 3,000 tokens is with the server to which haproxy sends it",
        arguments: [[1, 2, 3], [1, 2, 3, 4], [2, 3, 4], [7, 100, 4095]])
    func places(_ ids: [Int]) async throws {
        let directory = try TemporaryDirectory()
        let reserved = try WireServer.reservedPort()
        let front = try await front(ids, directory, reserved.port)
        let ring = HashRing(ids.map { HashRing.Server(id: $0, weight: 100) })
        #expect(ring.pointCount == ids.count * 1600)
        let client = try LoopbackClient(port: reserved.port)
        var random = SplitMix64(seed: 16)
        var shares: [Int: Int] = [:]
        for _ in 0..<3000 {
            let token = HashRing.token(random.bytes(32))
            let answer = try client.exchange(
                "GET", "/", token: String(decoding: token, as: UTF8.self))
            let expected = ring.server(of: HashRing.hash(ofToken: token))
            #expect(answer.text == "\(expected)")
            shares[expected, default: 0] += 1
        }
        #expect(shares.count == ids.count)
        front.signal(SIGTERM)
        _ = await front.exit()
    }
}
