import Synchronization
import TestSupport
import WakeModel
import WakeSodium
import WakeStore

/// How long a rotation takes, and how long registrations wait for it.
enum RotationBenchmark {
    /// What the writers share.
    private final class Meter: Sendable {
        let isOver = Atomic<Bool>(false)
        /// Nanoseconds until each registration was durable.
        let waits = Mutex<[UInt64]>([])
    }

    private static let help = """
        usage: bench rotation [--rows 100000] [--writers 8]

        Fills both generations with so many rows each, then rotates while so many writers register
        one after the other. Files lie in a temporary directory: twice 600 bytes a row, and once
        more while the database is written anew.
        """

    static func run(_ arguments: [String]) async -> Int32 {
        let options = Options(arguments, known: ["rows", "writers"])
        return await options.run(help: help) { options in
            try await measure(
                rows: options.number("rows", default: 100_000),
                writers: options.number("writers", default: 8))
            return 0
        }
    }

    private static func measure(rows: Int, writers: Int) async throws {
        let directory = try TemporaryDirectory()
        let configuration = StoreConfiguration(
            dataDirectory: directory.path + "/data", keyFile: directory.path + "/keys/master")
        try Store.create(configuration)
        let store = try Store(opening: configuration)
        try await fill(store, rows)
        try await rotate(store, "first rotation, \(rows) rows move")
        try await fill(store, rows)
        let meter = Meter()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<writers {
                group.addTask {
                    while !meter.isOver.load(ordering: .relaxed) {
                        let wait = try await register(store)
                        meter.waits.withLock { $0.append(wait) }
                    }
                }
            }
            try await rotate(store, "second rotation, \(rows) rows expire, \(rows) move")
            meter.isOver.store(true, ordering: .relaxed)
            try await group.waitForAll()
        }
        let sorted = meter.waits.withLock { $0.sorted() }
        func milliseconds(_ share: Double) -> Int {
            Int(sorted[Int(Double(sorted.count - 1) * share)] / 1_000_000)
        }
        print(
            "\(sorted.count) registrations meanwhile waited, ms: p50 \(milliseconds(0.5)), "
                + "p99 \(milliseconds(0.99)), longest \(milliseconds(1))")
        await store.close()
    }

    private static func rotate(_ store: Store, _ what: String) async throws {
        let watch = Stopwatch()
        let outcome = await store.rotate()
        guard case .rotated(let report) = outcome,
            case .done(let bytes, let pause) = report.compaction
        else { throw TestFailure("\(outcome)") }
        print(
            "\(what): \(Int(watch.seconds * 1000)) ms, nothing else is done in \(pause) ms of it; "
                + "dropped \(report.dropped), \(bytes / 1_048_576) MiB")
    }

    private static func fill(_ store: Store, _ rows: Int) async throws {
        let lanes = 1024
        try await withThrowingTaskGroup(of: Void.self) { group in
            for lane in 0..<lanes {
                group.addTask {
                    for _ in stride(from: lane, to: rows, by: lanes) {
                        _ = try await register(store)
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    /// - Returns: nanoseconds until it was durable.
    @concurrent
    private static func register(_ store: Store) async throws -> UInt64 {
        guard let token = InstanceToken(Sodium.random(InstanceToken.byteCount)) else { return 0 }
        let push = try PushToken(service: .apns, bytes: Sodium.random(32))
        let start = Stopwatch.monotonic()
        let answer = await withCheckedContinuation { continuation in
            store.submit(.register(token, push)) { continuation.resume(returning: $0) }
        }
        guard answer == .done else { throw TestFailure("not registered") }
        return Stopwatch.monotonic() - start
    }
}
