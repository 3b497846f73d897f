import Foundation
import Synchronization
import TestSupport
import Testing
import WakeModel
import WakeSystem

@Suite("kill -9 of the service", .timeLimit(.minutes(30)))
struct CrashTests {
    /// What one client was told, in order.
    private struct Acknowledged {
        var devices: [TestDevice] = []
        var deleted: Set<Int> = []
        /// Ids and sealed bytes of what was deleted, as subject access showed them before.
        var traces: [[UInt8]] = []

        /// Whoever was looked at again and again need not be for ever.
        mutating func keep(_ count: Int) {
            let first = max(0, devices.count - count)
            devices.removeFirst(first)
            deleted = Set(deleted.filter { $0 >= first }.map { $0 - first })
            traces = traces.suffix(count)
        }
    }

    @Test("nothing acknowledged is lost, nothing deleted comes back, or is in a file")
    func kills() async throws {
        let service = try await ServiceUnderTest()
        var acknowledged = Acknowledged()
        var total = 0
        let rounds = ProcessInfo.processInfo.environment["REVEILLE_LONG"] == nil ? 12 : 600
        for round in 0..<rounds {
            let port = service.port
            let before = acknowledged
            let (answers, answered) = AsyncStream<Void>.makeStream()
            let load = Task.onThread {
                defer { answered.finish() }
                return Self.load(port: port, before) { answered.yield() }
            }
            // The load goes on: the kill falls anywhere in the requests after so many answers.
            var left = Int.random(in: 1...60)
            for await _ in answers {
                left -= 1
                if left == 0 { break }
            }
            #expect(left == 0, "round \(round)")
            await service.kill()
            acknowledged = await load.value
            #expect(StorePlace.hits(acknowledged.traces, in: service.data) == 0, "round \(round)")
            try await service.restart()
            try check(acknowledged, service, round)
            total += acknowledged.devices.count - before.devices.count
            acknowledged.keep(300)
        }
        #expect(total >= rounds)
        #expect(await service.stop() == 0)
    }

    /// Registers new devices and deletes every third, until the connection breaks.
    private static func load(
        port: UInt16, _ before: Acknowledged, _ wasAnswered: () -> Void
    ) -> Acknowledged {
        var told = before
        guard let client = try? LoopbackClient(port: port) else { return told }
        while true {
            let device = TestDevice()
            guard
                let put = try? client.exchange(
                    "PUT", "/v1/registration", token: device.token, body: device.body),
                put.status == 204
            else { return told }
            told.devices.append(device)
            wasAnswered()
            guard told.devices.count % 3 == 0 else { continue }
            let victim = Int.random(in: told.devices.indices)
            guard let stored = try? stored(told.devices[victim], client) else { return told }
            // Deleted or not once the request is out: only an answer decides.
            let delete = try? client.exchange(
                "DELETE", "/v1/registration", token: told.devices[victim].token)
            if delete?.status == 204 {
                told.deleted.insert(victim)
                told.traces += stored
                wasAnswered()
            } else {
                told.devices.remove(at: victim)
                told.deleted = Set(
                    told.deleted.compactMap { index in
                        index == victim ? nil : index > victim ? index - 1 : index
                    })
                return told
            }
        }
    }

    /// Both columns of what is stored; nothing when nothing is.
    private static func stored(
        _ device: TestDevice, _ client: LoopbackClient
    ) throws -> [[UInt8]] {
        let answer = try client.exchange("GET", "/v1/registration", token: device.token)
        let stored = try RegistrationResponse.decode(answer.body).stored
        return stored.map { [$0.id, $0.sealed] } ?? []
    }

    private func check(_ told: Acknowledged, _ service: ServiceUnderTest, _ round: Int) throws {
        let client = try LoopbackClient(port: service.port)
        for (index, device) in told.devices.enumerated() {
            let answer = try client.exchange("GET", "/v1/registration", token: device.token)
            let stored = try RegistrationResponse.decode(answer.body).stored
            let expected = told.deleted.contains(index) ? nil : device.push
            #expect(stored?.token.bytes.copy() == expected, "round \(round)")
        }
    }
}

extension Task where Success: Sendable, Failure == Never {
    /// Blocking socket work on a thread of its own, so that it does not hold up other tests.
    static func onThread(_ body: @escaping @Sendable () -> Success) -> Task {
        Task {
            await withCheckedContinuation { continuation in
                DispatchQueue.global().async { continuation.resume(returning: body()) }
            }
        }
    }
}
