import Foundation
import TestSupport
import Testing
import WakeModel

@Suite(
    "Rows on former shards",
    .enabled(if: ClusterUnderTest.isInstalled, "haproxy is not installed (apt: haproxy)"),
    .timeLimit(.minutes(10)))
struct FormerShardTests {
    @Test("what a deletion does not reach on a former shard is gone after its second rotation")
    func leftBehind() async throws {
        let devices = (0..<60).map { _ in TestDevice() }
        let push = try await LoopbackAPNs()
        let cluster = try await ClusterUnderTest(3, push)
        #expect(cluster.renew(devices) == 0)
        let former = try #require(cluster.shards[2])
        let front = try LoopbackClient(port: cluster.port)
        let rows = try devices.map { device in
            let answer = try front.exchange("GET", "/v1/registration", token: device.token)
            return try #require(try RegistrationResponse.decode(answer.body).stored).sealed
        }
        let left = rows.filter { StorePlace.hits([$0], in: former.data) > 0 }
        #expect(!left.isEmpty && left.count < devices.count)

        try cluster.drain(2)
        #expect(cluster.renew(devices) == 0)
        for device in devices {
            let answer = try front.exchange("DELETE", "/v1/registration", token: device.token)
            #expect(answer.status == 204)
        }
        #expect(cluster.missing(devices) == devices.count)
        // Deleted where it belongs, and still at the former place.
        for (number, shard) in cluster.shards where number != 2 {
            #expect(StorePlace.hits(rows, in: shard.data) == 0)
        }
        #expect(StorePlace.hits(left, in: former.data) == left.count)
        let woken = try await former.command("broadcast", "--force")
        #expect(woken.output.contains("\(left.count) accepted"), "\(woken.output)")

        for (rotation, expected) in [(1, left.count), (2, 0)] {
            let rotated = try await former.command("rotate", "--now", "--yes")
            #expect(rotated.status == 0, "\(rotation): \(rotated.output)")
            #expect(StorePlace.hits(left, in: former.data) == expected, "\(rotation)")
        }
        #expect(try former.rows() == 0)
        await cluster.stop()
    }
}
