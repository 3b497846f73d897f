import Foundation
import TestSupport
import Testing
import WakeModel

@Suite(
    "Deletions in a cluster",
    .enabled(if: ClusterUnderTest.isInstalled, "haproxy is not installed (apt: haproxy)"),
    .timeLimit(.minutes(10)))
struct FormerShardTests {
    private static let spellings = ["Bearer ", "bearer ", "BEARER ", "bEaReR "]

    /// The status of a deletion through the front.
    private func delete(
        _ device: TestDevice, _ cluster: ClusterUnderTest, spelling: String = "Bearer "
    ) throws -> Int {
        let client = try LoopbackClient(port: cluster.port)
        try client.send(
            "DELETE /v1/registration HTTP/1.1\r\nHost: wake\r\n"
                + "Authorization: \(spelling)\(device.token)\r\n\r\n")
        return try client.receiveResponse().status
    }

    /// The sealed bytes of each device's row where it belongs now.
    private func sealed(_ devices: [TestDevice], _ cluster: ClusterUnderTest) throws -> [[UInt8]] {
        let front = try LoopbackClient(port: cluster.port)
        return try devices.map { device in
            let answer = try front.exchange("GET", "/v1/registration", token: device.token)
            return Array(try #require(try RegistrationResponse.decode(answer.body).stored).sealed)
        }
    }

    private func rows(_ cluster: ClusterUnderTest) throws -> Int {
        try cluster.shards.values.map { try $0.rows() }.reduce(0, +)
    }

    @Test("none is acknowledged while its shard is away, in any spelling, and repeated it is done")
    func away() async throws {
        let devices = (0..<90).map { _ in TestDevice() }
        let cluster = try await ClusterUnderTest(3, LoopbackAPNs())
        #expect(cluster.renew(devices) == 0)
        let shard = try #require(cluster.shards[1])
        let sealed = try sealed(devices, cluster)
        let own = devices.indices.filter { StorePlace.hits([sealed[$0]], in: shard.data) > 0 }
        #expect(own.count > 10 && own.count < 60)
        #expect(await shard.stop() == 0)
        func deleteAll() throws -> [Int] {
            try own.map {
                try delete(devices[$0], cluster, spelling: Self.spellings[$0 % 4])
            }
        }
        // As soon as it has gone, and when haproxy has noticed.
        #expect(try deleteAll().allSatisfy { $0 == 503 })
        try await cluster.sees(1, isUp: false)
        #expect(try deleteAll().allSatisfy { $0 == 503 })
        // Those of others are erased, and not acknowledged either: it may have a row of theirs.
        let other = try #require(devices.indices.first { !own.contains($0) })
        #expect(try delete(devices[other], cluster) == 503)
        let others = cluster.shards.filter { $0.key != 1 }.values
        #expect(others.allSatisfy { StorePlace.hits([sealed[other]], in: $0.data) == 0 })
        try await shard.restart()
        try await cluster.sees(1, isUp: true)
        #expect(try deleteAll().allSatisfy { $0 == 204 })
        for shard in cluster.shards.values {
            #expect(StorePlace.hits(own.map { sealed[$0] }, in: shard.data) == 0)
        }
        #expect(try delete(devices[other], cluster) == 204)
        #expect(try rows(cluster) == devices.count - own.count - 1)
        await cluster.stop()
    }

    @Test("they reach the rows on shards where their clients were before one came or went")
    func formerShards() async throws {
        let devices = (0..<120).map { _ in TestDevice() }
        let push = try await LoopbackAPNs()
        let cluster = try await ClusterUnderTest(3, push)
        #expect(cluster.renew(devices) == 0)
        var sealed = try sealed(devices, cluster)
        try await cluster.add(4, push)
        try await cluster.sees(4, isUp: true)
        // Half of them renew before; one in four has a row at a former shard then.
        #expect(cluster.renew(Array(devices.prefix(60))) == 0)
        sealed += try self.sealed(Array(devices.prefix(60)), cluster)
        let moved = try rows(cluster) - devices.count
        #expect(moved > 3 && moved < 40, "\(moved)")
        try cluster.drain(2)
        #expect(cluster.renew(Array(devices.prefix(30))) == 0)
        #expect(try rows(cluster) > devices.count + moved)
        for device in devices { #expect(try delete(device, cluster) == 204) }
        for shard in cluster.shards.values {
            #expect(StorePlace.hits(sealed, in: shard.data) == 0)
            #expect(try shard.rows() == 0)
        }
        await cluster.stop()
    }

    @Test(
        "through the gateway of any shard each request reaches the shard of its token",
        .enabled(if: ObliviousPeer.isInstalled, "needs Python's cryptography"))
    func oblivious() async throws {
        let devices = (0..<24).map { _ in TestDevice() }
        let cluster = try await ClusterUnderTest(3, LoopbackAPNs())
        func plans(_ method: String) -> [ObliviousPeer.Plan] {
            devices.map { device in
                let front = "http://127.0.0.1:\(cluster.port)"
                var plan = ObliviousPeer.Plan(
                    url: front + "/v1/oblivious", keys: front + "/.well-known/ohttp-gateway",
                    method: method)
                plan.token = device.token
                if method == "PUT" { plan.body = String(decoding: device.body, as: UTF8.self) }
                return plan
            }
        }
        let put = try await ObliviousPeer.exchange(plans("PUT"))
        #expect(put.allSatisfy { $0.inner?.status == 204 && $0.length == 4608 })
        // Where they would be without a gateway.
        #expect(cluster.missing(devices) == 0)
        #expect(try cluster.shards.values.allSatisfy { try $0.rows() > 0 })
        let read = try await ObliviousPeer.exchange(plans("GET"))
        for (device, answer) in zip(devices, read) {
            #expect(answer.inner?.status == 200 && answer.length == 4608)
            #expect(answer.inner?.body.contains(device.pushText) == true)
        }
        let sealed = try sealed(devices, cluster)
        let shard = try #require(cluster.shards[3])
        #expect(await shard.stop() == 0)
        let refused = try await ObliviousPeer.exchange(plans("DELETE"))
        #expect(refused.allSatisfy { $0.inner?.status == 503 && $0.length == 4608 })
        try await shard.restart()
        let deleted = try await ObliviousPeer.exchange(plans("DELETE"))
        #expect(deleted.allSatisfy { $0.inner?.status == 204 })
        for shard in cluster.shards.values {
            #expect(StorePlace.hits(sealed, in: shard.data) == 0)
        }
        await cluster.stop()
    }
}
