private import Glibc
private import Synchronization
import TestSupport
import WakeModel
import WakeSQLite
import WakeSodium
import WakeStore
import WakeSystem

/// The store at rest and in a rotation.
enum StoreRows {
    static let all: [Benchmark] = [audit, rotation]

    private static let audit = Benchmark(
        "audit", "a row audited", unit: "rows",
        sizes: Sizes(200_000, full: 1_000_000, growth: 2000),
        by: .processorTime
    ) { setting in
        let place = StorePlace(in: setting.directory)
        let files = FilledStores.Files(in: place.path)
        try await setting.stores.copy(rows: setting.size, to: files)
        let program = BenchService.file("reveille")
        return [
            Arm(.ours, "reveille audit") { _ in
                let watch = Stopwatch()
                guard let process = MeasuredProcess([program, "audit", files.data]) else {
                    throw BenchFailure("the audit does not start")
                }
                while process.line() != nil {}
                let end = process.end()
                guard end.isSuccess else { throw BenchFailure("the audit found something") }
                var measured = Measurement(
                    operations: setting.size, seconds: watch.seconds,
                    processorSeconds: end.processorSeconds)
                measured.memory = end.peak
                return measured
            },
            Arm(.ceiling, "hashing the files") { _ in
                defer { withExtendedLifetime(place) {} }
                let watch = Stopwatch()
                let start = Stopwatch.threadSeconds
                let hash = Blake2b()
                for database in files.databases {
                    let file = try OpenFile(database, flags: O_RDONLY)
                    var offset = 0
                    while case let piece = try file.read(at: offset, count: 1 << 16),
                        !piece.isEmpty
                    {
                        hash.update(piece.span)
                        offset += piece.count
                    }
                }
                _ = hash.finish()
                return Measurement(
                    operations: setting.size, seconds: watch.seconds,
                    processorSeconds: Stopwatch.threadSeconds - start)
            },
        ]
    }

    private static let rotation = Benchmark(
        "rotation",
        "a row of a rotation that drops half of them; latencies of 1,000 registrations a second "
            + "meanwhile",
        unit: "rows that stay", sizes: Sizes(100_000, full: 1_000_000, growth: 3000), by: .rate
    ) { setting in
        [
            Arm(.ours, "store") { _ in
                let place = StorePlace(in: setting.directory)
                let files = FilledStores.Files(in: place.path)
                try await setting.stores.copy(rows: setting.size, expiring: true, to: files)
                return try await RotationRun.measure(files, rows: 2 * setting.size)
            }
        ]
    }

}

/// A rotation, and those who register meanwhile: one each millisecond, whether the ones before have
/// their answers or not, so that a pause meets everybody who comes in it.
private enum RotationRun {
    private final class Meter: Sendable {
        let isOver = Atomic<Bool>(false)
        let refused = Atomic<Int>(0)
        let waits = Mutex(Histogram())
    }

    private static let interval: UInt64 = 1_000_000

    static func measure(_ files: FilledStores.Files, rows: Int) async throws -> Measurement {
        let store = try Store(opening: files.configuration)
        let meter = Meter()
        try SystemThread.start { register(store, meter) }
        let watch = Stopwatch()
        let outcome = await store.rotate()
        let (seconds, processor) = (watch.seconds, watch.processorSeconds)
        meter.isOver.store(true, ordering: .relaxed)
        // Answers what was submitted.
        await store.close()
        guard case .rotated = outcome,
            meter.refused.load(ordering: .relaxed) == 0
        else { throw BenchFailure("\(outcome)") }
        return Measurement(
            operations: rows, seconds: seconds, processorSeconds: processor,
            latencies: meter.waits.withLock { $0 })
    }

    private static func register(_ store: Store, _ meter: Meter) {
        var due = SystemClock.monotonicNanoseconds
        while !meter.isOver.load(ordering: .relaxed) {
            due += interval
            SystemClock.sleep(until: due)
            guard let push = try? PushToken(service: .apns, bytes: Sodium.random(32)) else { break }
            let start = due
            store.submit(.register(.random, push)) { answer in
                let wait = SystemClock.monotonicNanoseconds - start
                if answer == .done {
                    meter.waits.withLock { $0.record(wait) }
                } else if !meter.isOver.load(ordering: .relaxed) {
                    meter.refused.add(1, ordering: .relaxed)
                }
            }
        }
    }
}
