private import Foundation
private import Glibc
import TestSupport

/// `bench all`: the rows, one after the other, as one table.
struct AllBenchmarks {
    private static let help = """
        usage: bench all [--only ROW,…] [--rounds N] [--scale small|full] [--size N] [--growth]
                         [--peers] [--json] [--directory DIR] [--list]

        Measures every row of the table: the CPU time of an operation, operations a second,
        latencies, and all that as a share of what is possible, of a loop that does only what
        cannot be avoided. The arms of a row take turns in each round; the share is the median of
        the rounds, with the least and the most.

        --only ROW,…  rows by name, or all whose names begin with a word that is no name; --list
                      names them
        --rounds N    3 at small scale, 5 at full; one more before them warms up
        --scale full  more work for each row, and the rows that take minutes or gigabytes
        --size N      so much work a round in place of the scale's
        --growth      each row with 1, 10 and 100 times the work, once: cost that stays flat
        --peers       other programs for the same, where they are installed: nghttp2-client,
                      nodejs, libnginx-mod-nchan of Debian; aioapns, fastapi, uvicorn of PyPI, in
                      .build/peers or the system's Python
        --json        an object for `bench table`, on standard output; progress goes to the other
        --directory   of files, 10 GB at small scale; /var/tmp
        """

    private let options: Options
    private let stores: FilledStores
    private let directory: String
    private var isJSON: Bool { options.isSet("json") }
    private var isFull: Bool { options["scale"] == "full" }

    static func run(_ arguments: [String]) async -> Int32 {
        let options = Options(
            arguments, known: ["only", "rounds", "scale", "size", "directory"],
            flags: ["json", "peers", "growth", "list"])
        let scale = options["scale"] ?? "small"
        guard options.unknown == nil, scale == "small" || scale == "full" else {
            print(help)
            return options.unknown == "--help" ? 0 : 2
        }
        if options.isSet("list") {
            for row in BenchmarkTable.rows { print("\(row.name): \(row.operation)") }
            return 0
        }
        let benchmark = AllBenchmarks(options)
        guard let chosen = benchmark.chosen() else { return 2 }
        return options.isSet("growth")
            ? await benchmark.growth(of: chosen) : await benchmark.table(of: chosen)
    }

    private init(_ options: Options) {
        self.options = options
        directory = options["directory"] ?? "/var/tmp"
        // What tests' helpers make goes there as well: registrations must meet a real disk.
        unsafe setenv("TMPDIR", directory, 1)
        stores = FilledStores(in: directory)
    }

    /// nil when a name names nothing.
    private func chosen() -> [Benchmark]? {
        guard let only = options["only"] else {
            return BenchmarkTable.rows.filter { isFull || !$0.isLong }
        }
        let words = only.split(separator: ",").map(String.init)
        for word in words where !BenchmarkTable.rows.contains(where: { $0.name.hasPrefix(word) }) {
            print("bench: no row \(word); bench all --list names them")
            return nil
        }
        let names = Set(BenchmarkTable.rows.map(\.name))
        return BenchmarkTable.rows.filter { row in
            words.contains { word in
                // The name of a row is that row alone.
                names.contains(word)
                    ? row.name == word : row.name.hasPrefix(word) && (isFull || !row.isLong)
            }
        }
    }

    // MARK: The table

    private func table(of rows: [Benchmark]) async -> Int32 {
        if !isJSON { print("\(Machine.description)\n\(RowResult.header)") }
        var results: [RowResult] = []
        var failures = 0
        for row in rows {
            let watch = Stopwatch()
            do {
                let size = options.number(
                    "size", default: isFull ? row.sizes.full : row.sizes.small)
                let result = try await measure(row, size: size)
                results.append(result)
                if result.hasFailed { failures += 1 }
                if !isJSON { result.lines.forEach { print($0) } }
                note("\(row.name): \(Int(watch.seconds)) s")
            } catch {
                failures += 1
                note("\(row.name) FAILED: \(error)")
            }
            fflush(nil)
        }
        if isJSON {
            do {
                let encoder = JSONEncoder()
                encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
                let report = BenchReport(
                    machine: Machine.description,
                    commit: ProcessInfo.processInfo.environment["BENCH_COMMIT"], rows: results)
                print(String(decoding: try encoder.encode(report), as: UTF8.self))
            } catch {
                note("bench: \(error)")
                return 1
            }
        } else {
            print("each alone: Tests/Bench all --only ROW")
        }
        return failures == 0 ? 0 : 1
    }

    private func measure(
        _ row: Benchmark, size: Int, rounds given: Int? = nil
    ) async throws -> RowResult {
        let arms = try await row.prepare(setting(row, size: size))
        let asked = given ?? max(1, options.number("rounds", default: isFull ? 5 : 3))
        let rounds = min(row.rounds, asked)
        let first = row.rounds == 1 ? 1 : 0
        var measured = [[Measurement]](repeating: [], count: arms.count)
        // Of other programs, whose troubles are none of ours.
        var failed: Set<Int> = []
        for round in first...rounds {
            // Who comes first changes, so that nobody always has the warmer caches.
            let order = round % 2 == 0 ? Array(arms.indices) : arms.indices.reversed()
            for index in order where !failed.contains(index) {
                do {
                    let measurement = try await arms[index].measure(round)
                    if round > 0 { measured[index].append(measurement) }
                } catch {
                    guard arms[index].role == .peer else { throw error }
                    note("\(row.name): without \(arms[index].name): \(error)")
                    failed.insert(index)
                }
            }
        }
        var command = "Tests/Bench all --only \(row.name)"
        if isFull { command += " --scale full" }
        if arms.contains(where: { $0.role == .peer }), options.isSet("peers") {
            command += " --peers"
        }
        return RowResult(
            row, size: size, command: command,
            rounds: arms.indices.filter { !failed.contains($0) }.map {
                (arm: arms[$0], measurements: measured[$0])
            })
    }

    private func setting(_ row: Benchmark, size: Int) -> Setting {
        Setting(
            size: size, isFull: isFull, directory: directory, hasPeers: options.isSet("peers"),
            stores: stores
        ) { note("\(row.name): skipped: \($0)") }
    }

    // MARK: Growth

    private func growth(of rows: [Benchmark]) async -> Int32 {
        var failures = 0
        for row in rows {
            guard let first = row.sizes.growth else { continue }
            var results: [RowResult] = []
            for size in [first, 10 * first, 100 * first] {
                do {
                    results.append(try await measure(row, size: size, rounds: 1))
                    if let ours = results.last?.ours { say(row, size, ours) }
                } catch {
                    failures += 1
                    note("\(row.name) at \(size) FAILED: \(error)")
                }
            }
            if let least = cost(results.first, row), let most = cost(results.last, row) {
                print(
                    "  100 times the work costs \(Figure.number(most / least)) times as much each")
            }
            fflush(nil)
        }
        return failures == 0 ? 0 : 1
    }

    private func say(_ row: Benchmark, _ size: Int, _ ours: RowResult.ArmResult) {
        var line = "\(row.name.padded(30))\(Figure.number(Double(size)).leftPadded(12)) \(row.unit)"
        if let microseconds = ours.microseconds {
            line += ", \(Figure.number(microseconds)) us of CPU each"
        }
        if let bytes = ours.bytes { line += ", \(Figure.number(bytes)) bytes each" }
        if let rate = ours.rate { line += ", \(Figure.number(rate))/s" }
        if let memory = ours.memory { line += ", at most \(memory >> 20) MiB of memory" }
        print(line)
        fflush(nil)
    }

    private func cost(_ result: RowResult?, _ row: Benchmark) -> Double? {
        guard let ours = result?.ours else { return nil }
        return row.comparison == .bytes
            ? ours.bytes : ours.microseconds ?? ours.rate.map { 1e6 / $0 }
    }

    /// A line that is no part of the table.
    private func note(_ line: String) {
        let bytes = Array((line + "\n").utf8)
        _ = unsafe bytes.withUnsafeBytes { unsafe write(2, $0.baseAddress, $0.count) }
    }
}

/// The machine, as far as figures depend on it.
enum Machine {
    static var description: String {
        var system = utsname()
        let isKnown = unsafe uname(&system) == 0
        let kind = isKnown ? unsafe withUnsafeBytes(of: system.machine) { unsafe text($0) } : ""
        let release = (try? String(contentsOfFile: "/etc/os-release", encoding: .utf8)) ?? ""
        let name = release.split(separator: "\n").first { $0.hasPrefix("PRETTY_NAME=") }
        let title = name.map { $0.dropFirst(12).filter { $0 != "\"" } } ?? "Linux"
        return "\(ProcessInfo.processInfo.activeProcessorCount) cores (\(kind)), \(title)"
    }

    private static func text(_ bytes: UnsafeRawBufferPointer) -> String {
        unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }
}
