import Foundation
import Synchronization
import TestSupport
import Testing
import WakeModel

@Suite(
    "Several services behind haproxy as Deploy/cluster has it",
    .enabled(if: ClusterUnderTest.isInstalled, "haproxy is not installed (apt: haproxy)"),
    .timeLimit(.minutes(30)))
struct ClusterTests {
    private static let isLong = ProcessInfo.processInfo.environment["REVEILLE_LONG"] != nil
    private static let count = isLong ? 100_000 : 2000

    @Test("a shard dies with its disk, one comes, one goes: a renewal heals, nobody is refused")
    func story() async throws {
        let devices = (0..<Self.count).map { _ in TestDevice() }
        let first = try await LoopbackAPNs()
        let cluster = try await ClusterUnderTest(3, first)
        #expect(cluster.renew(devices) == 0)
        let shares = try cluster.shards.mapValues { try $0.rows() }
        #expect(shares.values.reduce(0, +) == devices.count)
        #expect(shares.values.allSatisfy { abs(3 * $0 - devices.count) < devices.count / 2 })
        try await broadcast(cluster)
        try await expectOnce(first, devices.count)

        let steady = Steady(cluster, Array(devices.prefix(50)))
        // Dead with its disk: a third of the clients are registered nowhere until they renew.
        try await cluster.destroy(1)
        try await cluster.sees(1, isUp: false)
        #expect(cluster.renew(devices) == 0)
        #expect(cluster.missing(devices) == 0)

        // In its place another: it gets a third, and nobody else moves.
        let second = try await LoopbackAPNs()
        try await cluster.add(4, inPlaceOf: 1, second)
        try await cluster.sees(4, isUp: true)
        #expect(cluster.renew(devices) == 0)
        #expect(cluster.missing(devices) == 0)
        let moved = try cluster.shards[4]?.rows() ?? 0
        #expect(abs(3 * moved - devices.count) < devices.count / 2, "\(moved)")

        // One is drained, and switched off when everybody has renewed elsewhere.
        try cluster.drain(2)
        #expect(cluster.renew(devices) == 0)
        #expect(cluster.missing(devices) == 0)
        #expect(await cluster.shards[2]?.stop() == 0)
        try await cluster.forget(2)
        #expect(cluster.missing(devices) == 0)
        #expect(steady.stop() == 0, "refused while shards came and went")

        try await expectSteady(cluster, devices)
        await cluster.stop()
        for device in devices.prefix(50) {
            #expect(!cluster.output.contains(device.token))
        }
    }

    /// Two rotations erase what was left on former shards; then each client has one row and one
    /// wake-up.
    private func expectSteady(
        _ cluster: ClusterUnderTest, _ devices: [TestDevice]
    ) async throws {
        #expect(Set(cluster.shards.keys) == [3, 4])
        for _ in 0..<2 {
            for shard in cluster.shards.values {
                let (status, output) = try await shard.command("rotate", "--now", "--yes")
                #expect(status == 0, "\(output)")
            }
            #expect(cluster.renew(devices) == 0)
        }
        let rows = try cluster.shards.values.map { try $0.rows() }.reduce(0, +)
        #expect(rows == devices.count)
        let last = try await LoopbackAPNs()
        for shard in cluster.shards.values {
            #expect(await shard.stop() == 0)
            try shard.removeSection("apns")
            let text = try String(contentsOfFile: shard.configuration, encoding: .utf8)
            try (text + last.section).write(
                toFile: shard.configuration, atomically: true, encoding: .utf8)
            try await shard.restart()
        }
        #expect(cluster.missing(devices) == 0)
        try await broadcast(cluster)
        try await expectOnce(last, devices.count)
    }

    /// Each shard broadcasts to its own, as it does by its own schedule.
    private func broadcast(_ cluster: ClusterUnderTest) async throws {
        for shard in cluster.shards.values {
            let (status, output) = try await shard.command("broadcast", "--force")
            #expect(status == 0, "\(output)")
        }
    }

    private func expectOnce(_ push: LoopbackAPNs, _ count: Int) async throws {
        let report = try await push.mock.report()
        #expect(report.distinct == count && report.delivered == count)
        #expect(report.duplicates == 0 && report.violations == [:])
    }
}

/// Clients that renew all the time, on a thread of their own.
private final class Steady: Sendable {
    private let isOver = Atomic<Bool>(false)
    private let failures = Observed<Int?>(nil)
    private let ended = DispatchSemaphore(value: 0)

    init(_ cluster: ClusterUnderTest, _ devices: [TestDevice]) {
        let port = cluster.port
        Thread.detachNewThread { [self] in
            var failed = 0
            while !isOver.load(ordering: .relaxed) {
                for device in devices where !Self.renew(device, port) { failed += 1 }
            }
            failures.update { [failed] in $0 = failed }
            ended.signal()
        }
    }

    private static func renew(_ device: TestDevice, _ port: UInt16) -> Bool {
        let answer = try? LoopbackClient(port: port).exchange(
            "PUT", "/v1/registration", token: device.token, body: device.body)
        return answer?.status == 204
    }

    /// - Returns: how many were refused.
    func stop() -> Int {
        isOver.store(true, ordering: .relaxed)
        ended.wait()
        return failures.value ?? -1
    }
}
