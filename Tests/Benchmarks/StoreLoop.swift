import Synchronization
import WakeModel
import WakeSodium
import WakeStore

/// Registrations through `Store.submit` by closed-loop submitters: each sends its next one when the
/// last was answered, as a client on a keep-alive connection does.
enum StoreLoop {
    struct Outcome {
        var measurement: Measurement
        /// Operations in each transaction, in order.
        var batches: [Int]
        /// Pages the log grew by, and how often it was emptied before the answers.
        var pages: Int
        var truncations: Int
    }

    static func run(
        directory: String, connections: Int, operations: Int
    ) async throws -> Outcome {
        let reports = Mutex<[BatchReport]>([])
        var configuration = StoreConfiguration(
            dataDirectory: directory + "/data", keyFile: directory + "/keys/master")
        configuration.observe = { report in reports.withLock { $0.append(report) } }
        try Store.create(configuration)
        let store = try Store(opening: configuration)
        let share = operations / connections
        let watch = Stopwatch()
        let outcomes = await withTaskGroup(of: (latencies: [UInt64], failures: Int).self) { group in
            for _ in 0..<connections {
                group.addTask { await submit(share, to: store) }
            }
            var all: (latencies: [UInt64], failures: Int) = ([], 0)
            for await one in group {
                all.latencies += one.latencies
                all.failures += one.failures
            }
            return all
        }
        let measurement = Measurement(
            operations: outcomes.latencies.count, seconds: watch.seconds,
            processorSeconds: watch.processorSeconds, latencies: outcomes.latencies,
            failures: outcomes.failures)
        await store.close()
        return reports.withLock { reports in
            Outcome(
                measurement: measurement, batches: reports.map(\.operations),
                pages: reports.reduce(0) { $0 + $1.pages },
                truncations: reports.count { $0.truncated })
        }
    }

    @concurrent
    private static func submit(
        _ count: Int, to store: Store
    ) async -> (latencies: [UInt64], failures: Int) {
        var latencies: [UInt64] = []
        latencies.reserveCapacity(count)
        var failures = 0
        for _ in 0..<count {
            guard let token = InstanceToken(Sodium.random(InstanceToken.byteCount)),
                let pushToken = try? PushToken(service: .apns, bytes: Sodium.random(32))
            else { continue }
            let start = Stopwatch.monotonic()
            let answer = await withCheckedContinuation { continuation in
                store.submit(.register(token, pushToken)) { continuation.resume(returning: $0) }
            }
            latencies.append(Stopwatch.monotonic() - start)
            if answer != .done { failures += 1 }
        }
        return (latencies, failures)
    }
}
