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

    /// Whether this haproxy is one of 3.0 to 3.0.12, by its own word for it.
    private static func isTwiceHashed() async throws -> Bool {
        let condition = "version_atleast(3.0) && version_before(3.0.13)"
        let asked = try await RunningProgram.run(
            path: ClusterUnderTest.haproxy, ["-cc", condition])
        return asked.status == 0
    }

    @Test("both numbers of a place lead to the same points, and are ids that haproxy takes")
    func versions() throws {
        let text = try Repository.text("Deploy/cluster/haproxy.cfg")
        let halves = try #require(text.firstRange(of: ".else\n"))
        func numbers(_ part: Substring) -> [String: UInt32] {
            let found = part.matches(of: /setenv (PLACE\d) (\d+)/).map {
                (String($0.1), UInt32($0.2) ?? 0)
            }
            return Dictionary(uniqueKeysWithValues: found)
        }
        let twice = numbers(text[..<halves.lowerBound])
        let once = numbers(text[halves.upperBound...])
        #expect(twice.count == 8 && Set(twice.keys) == Set(once.keys))
        for (place, id) in twice {
            #expect(id > 0 && id <= UInt32(Int32.max))
            let other = try #require(once[place])
            #expect(
                HashRing.start(of: id, isTwiceHashed: true)
                    == HashRing.start(of: other, isTwiceHashed: false))
        }
    }

    @Test(
        "each of 3,000 tokens is with the server to which haproxy sends it",
        arguments: [[1, 2, 3], [1, 2, 3, 4], [2, 3, 4], [7, 100, 4095]])
    func places(_ ids: [Int]) async throws {
        let directory = try TemporaryDirectory()
        let reserved = try WireServer.reservedPort()
        let front = try await front(ids, directory, reserved.port)
        let isTwiceHashed = try await Self.isTwiceHashed()
        let ring = HashRing(
            ids.map { HashRing.Server(id: $0, weight: 100) }, isTwiceHashed: isTwiceHashed)
        #expect(ring.pointCount == ids.count * 1600)
        let client = try LoopbackClient(port: reserved.port)
        var random = SplitMix64(seed: 16)
        var shares: [Int: Int] = [:]
        for index in 0..<3000 {
            let token = HashRing.token(random.bytes(32))
            let scheme = ["Bearer ", "bearer ", "BEARER ", "Bearer   "][index % 4]
            try client.send(
                "GET / HTTP/1.1\r\nHost: wake\r\nAuthorization: \(scheme)"
                    + String(decoding: token, as: UTF8.self) + "\r\n\r\n")
            let answer = try client.receiveResponse()
            let expected = ring.server(of: HashRing.hash(ofToken: token))
            #expect(answer.text == "\(expected)")
            shares[expected, default: 0] += 1
        }
        #expect(shares.count == ids.count)
        front.signal(SIGTERM)
        _ = await front.exit()
    }
}
