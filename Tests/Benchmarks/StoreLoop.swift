import TestSupport
import WakeModel
import WakeStore

/// Registrations through `Store.submit` by closed-loop submitters: each sends its next one when the
/// last was answered, as a client on a keep-alive connection does.
enum StoreLoop {
    static func run(
        directory: String, connections: Int, operations: Int
    ) async throws -> Measurement {
        let configuration = StoreConfiguration(
            dataDirectory: directory + "/data", keyFile: directory + "/keys/master")
        try Store.create(configuration)
        let store = try Store(opening: configuration)
        let share = operations / connections
        let watch = Stopwatch()
        let outcomes = await withTaskGroup(of: (latencies: Histogram, failures: Int).self) {
            group in
            for _ in 0..<connections {
                group.addTask { await submit(share, to: store) }
            }
            var all: (latencies: Histogram, failures: Int) = (Histogram(), 0)
            for await one in group {
                all.latencies.add(one.latencies)
                all.failures += one.failures
            }
            return all
        }
        let measurement = Measurement(
            operations: outcomes.latencies.count, seconds: watch.seconds,
            processorSeconds: watch.processorSeconds, latencies: outcomes.latencies,
            failures: outcomes.failures)
        await store.close()
        return measurement
    }

    @concurrent
    private static func submit(
        _ count: Int, to store: Store
    ) async -> (latencies: Histogram, failures: Int) {
        var latencies = Histogram()
        var failures = 0
        for _ in 0..<count {
            guard let token = InstanceToken(Sodium.random(InstanceToken.byteCount)),
                let pushToken = try? PushToken(service: .apns, bytes: Sodium.random(32))
            else { continue }
            let start = Stopwatch.monotonic()
            let answer = await withCheckedContinuation { continuation in
                store.submit(.register(token, pushToken)) { continuation.resume(returning: $0) }
            }
            latencies.record(Stopwatch.monotonic() - start)
            if answer != .done { failures += 1 }
        }
        return (latencies, failures)
    }
}
