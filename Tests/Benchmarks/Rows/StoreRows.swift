private import Glibc
private import Synchronization
import TestSupport
import WakeModel
import WakeStore
import WakeSystem

/// The store at rest.
enum StoreRows {
    static let all: [Benchmark] = [audit]

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
}
