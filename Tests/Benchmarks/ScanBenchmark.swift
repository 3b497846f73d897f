private import Glibc
private import TestSupport
private import WakeModel
private import WakeSQLite
private import WakeSodium
private import WakeStore

/// The CPU time that a broadcast costs for each registration, beside what no broadcast can do
/// without: reading the same pages, and opening as many boxes.
enum ScanBenchmark {
    private static let help = """
        usage: bench scan [--rows 1000000] [--rounds 3]

        Fills a store with numbered push tokens (600 bytes each). In every round one thread reads
        all rows with SQLite alone, opens as many sealed boxes, and reads and opens all with the
        store; then the service sends everybody a push, as fast as it can, to a mock push service
        over TLS on the same machine. The broadcast's figure is of the service alone.
        """

    static func run(_ arguments: [String]) async -> Int32 {
        let options = Options(arguments, known: ["rows", "rounds"])
        return await options.run(help: help) { options in
            try await measure(
                rows: options.number("rows", default: 1_000_000),
                rounds: options.number("rounds", default: 3))
            return 0
        }
    }

    private static func measure(rows: Int, rounds: Int) async throws {
        let place = try await PushingService()
        print("filling \(rows) rows")
        try await place.restart(broadcast: "fetches-per-second = 0", filled: rows)
        var ratios: [Double] = []
        for round in 0..<rounds {
            let broadcast = try await broadcast(place, rows)
            guard await place.service.stop() == 0 else { throw TestFailure("did not stop") }
            let read = try read(place.path("data/registrations.db"), rows)
            let open = try open(rows)
            let walk = try await walk(place, rows)
            try place.forgetRounds()
            try await place.service.restart()
            print("round \(round + 1)")
            print("  read the pages:           \(read.line)")
            print("  open as many boxes:       \(open.line)")
            print("  read and open, the store: \(walk.line)")
            print("  the broadcast:            \(broadcast.measurement.line)")
            print("  memory of the service at its most: \(broadcast.peak >> 20) MiB")
            fflush(nil)
            let floor = (read.processorSeconds ?? 0) + (open.processorSeconds ?? 0)
            ratios.append((broadcast.measurement.processorSeconds ?? 0) / floor)
        }
        print("median \(tenths(median(ratios))) times reading and opening alone")
    }

    private static func broadcast(
        _ place: PushingService, _ rows: Int
    ) async throws -> (measurement: Measurement, peak: Int) {
        let process = Int(place.service.program.identifier)
        guard let before = Stopwatch.processorSeconds(of: process) else {
            throw TestFailure("no figures of the service")
        }
        let watch = Stopwatch()
        let (status, output) = try await place.broadcast()
        let seconds = watch.seconds
        guard status == 0, output.contains("\(rows) accepted"),
            let after = Stopwatch.processorSeconds(of: process),
            let peak = ProcessStatus(of: process)?.peak
        else { throw TestFailure(output) }
        let measurement = Measurement(
            operations: rows, seconds: seconds, processorSeconds: after - before)
        return (measurement, peak)
    }

    /// Page by page, as the store does, into one buffer.
    private static func read(_ path: String, _ rows: Int) throws -> Measurement {
        let database = try Database(path: path, access: .readOnly)
        let watch = Stopwatch()
        var count = 0
        var bytes: [UInt8] = []
        for table in StoreSchema.TableName.allCases {
            let page = try database.prepare(
                "SELECT id,sealed FROM \(table.rawValue) WHERE id>?1 ORDER BY id LIMIT ?2")
            var last: [UInt8] = []
            while true {
                try page.bind(1, blob: last.span)
                try page.bind(2, integer: Int64(Limits.scanRows))
                bytes.removeAll(keepingCapacity: true)
                var found = 0
                while try page.step() {
                    page.append(0, to: &bytes)
                    page.append(1, to: &bytes)
                    found += 1
                }
                page.reset()
                guard found > 0 else { break }
                count += found
                let start = (found - 1) * (Limits.idBytes + Limits.sealedBytes)
                last = Array(bytes[start..<start + Limits.idBytes])
            }
        }
        guard count == rows else { throw TestFailure("\(count) rows") }
        return Measurement(
            operations: rows, seconds: watch.seconds, processorSeconds: watch.processorSeconds)
    }

    private static func open(_ rows: Int) throws -> Measurement {
        let key = KeyMemory.random()
        let associated = Sodium.random(33)
        let plaintext = [UInt8](repeating: 0, count: Limits.plaintextBytes)
        let sealed = SealedBox.seal(plaintext.span, associated: associated.span, key: key)
        var memory = plaintext
        var opened = 0
        let watch = Stopwatch()
        for _ in 0..<rows {
            var output = memory.mutableSpan
            if SealedBox.open(
                sealed.span, associated: associated.span, key: key, into: &output)
            {
                opened += 1
            }
        }
        guard opened == rows else { throw TestFailure("\(opened) opened") }
        return Measurement(
            operations: rows, seconds: watch.seconds, processorSeconds: watch.processorSeconds)
    }

    private static func walk(_ place: PushingService, _ rows: Int) async throws -> Measurement {
        let store = try Store(
            opening: StoreConfiguration(
                dataDirectory: place.path("data"), keyFile: place.path("keys/registration.key")))
        var count = 0
        let watch = Stopwatch()
        for generation in [Generation.previous, .current] {
            var last: [UInt8]? = []
            while let after = last {
                guard
                    let page = await store.page(
                        of: generation, after: after, limit: Limits.scanRows)
                else { throw TestFailure("the store cannot be read") }
                count += page.rows.count
                last = page.last
            }
        }
        let measurement = Measurement(
            operations: rows, seconds: watch.seconds, processorSeconds: watch.processorSeconds)
        await store.close()
        guard count == rows else { throw TestFailure("\(count) rows") }
        return measurement
    }
}
