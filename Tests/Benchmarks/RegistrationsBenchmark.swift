private import Glibc
import TestSupport

/// Durable registrations a second at 64 connections, beside the bare commit loop, in interleaved
/// rounds on the same disk and directory.
enum RegistrationsBenchmark {
    private static let help = """
        usage: bench registrations [--rounds 5] [--operations 40000] [--connections 64]
                                   [--directory DIR] [--service COMMAND | --url URL [--pid N]]

        Each round fills an empty store through its queue, then commits as many rows of the
        same size, in batches of the very sizes seen, in a bare loop in the same directory,
        and registers as many over HTTP when there is a service. The first round warms up.

        --service COMMAND  a shell command that starts the service anew for each round with
                           `exec`; it finds a directory in $BENCH_DIRECTORY and listens on
                           $BENCH_DIRECTORY/public.sock
        --url URL          a service that runs already: http://127.0.0.1:PORT or unix:PATH
        --pid N            its process, for its CPU time
        """

    static func run(_ arguments: [String]) async -> Int32 {
        let options = Options(
            arguments,
            known: [
                "rounds", "operations", "connections", "directory", "service", "url", "pid",
            ])
        return await options.run(help: help, compare)
    }

    private static func compare(_ options: Options) async throws -> Int32 {
        let rounds = options.number("rounds", default: 5)
        var table = Table()
        for round in 0...rounds {
            print(round == 0 ? "warm-up" : "round \(round)")
            let measured = try await measure(options)
            if round > 0 { table.add(measured) }
        }
        print("median of \(rounds) rounds")
        for line in table.lines { print("  " + line) }
        return table.meetsRequirement ? 0 : 1
    }

    /// One round: every arm once.
    private static func measure(_ options: Options) async throws -> Table.Round {
        let connections = options.number("connections", default: 64)
        let operations = options.number("operations", default: 40_000)
        let place = StorePlace(in: options["directory"] ?? "/var/tmp")
        let outcome = try await StoreLoop.run(
            directory: place.path, connections: connections, operations: operations)
        print("  store: \(outcome.measurement.line)")
        print("         \(outcome.batchLine)")
        let bare = try BareLoop.run(directory: place.path, batches: outcome.batches)
        print("  bare:  \(bare.line)")
        let http = try measureHTTP(options, place, connections, operations)
        if let http { print("  http:  \(http.line)") }
        // Line by line also where the output is no terminal.
        fflush(nil)
        return Table.Round(
            store: outcome.measurement.rate, bare: bare.rate, http: http?.rate,
            failures: outcome.measurement.failures + (http?.failures ?? 0))
    }

    private static func measureHTTP(
        _ options: Options, _ place: StorePlace, _ connections: Int, _ operations: Int
    ) throws -> Measurement? {
        if let command = options["service"] {
            guard let service = ServiceProcess(command: command, directory: place.path) else {
                throw HTTPLoad.Failure.notListening
            }
            defer { service.stop() }
            return try HTTPLoad.run(
                service.address, connections: connections, operations: operations,
                process: Int(service.process))
        }
        guard let url = options["url"] else { return nil }
        guard let address = ServiceAddress(url) else { throw HTTPLoad.Failure.notListening }
        return try HTTPLoad.run(
            address, connections: connections, operations: operations,
            process: options["pid"].flatMap { Int($0) })
    }
}

/// The medians of several rounds, and the figure to reach.
private struct Table {
    struct Round {
        let store: Double
        let bare: Double
        let http: Double?
        /// Answers other than success: with one of them the rates mean nothing.
        let failures: Int
    }

    private var rounds: [Round] = []
    /// The service reaches at least this share of the bare loop's rate.
    private let requirement = 0.6

    mutating func add(_ round: Round) {
        rounds.append(round)
    }

    /// Of the whole service when it was measured, otherwise of the store alone.
    var meetsRequirement: Bool {
        rounds.allSatisfy { $0.failures == 0 }
            && median(rounds.map { ($0.http ?? $0.store) / $0.bare }) >= requirement
    }

    var lines: [String] {
        var lines = [
            "bare loop  \(Int(median(rounds.map(\.bare))))/s",
            line("store", rounds.map { ($0.store, $0.store / $0.bare) }),
        ]
        let http = rounds.compactMap { round in round.http.map { ($0, $0 / round.bare) } }
        if !http.isEmpty { lines.append(line("service", http)) }
        let verdict = meetsRequirement ? "met" : "MISSED"
        lines.append("at least 60 % of the bare loop: \(verdict)")
        return lines
    }

    private func line(_ name: String, _ values: [(rate: Double, ratio: Double)]) -> String {
        let padded = name + String(repeating: " ", count: 11 - name.count)
        let percent = Int((median(values.map(\.ratio)) * 100).rounded())
        return "\(padded)\(Int(median(values.map(\.rate))))/s, \(percent) % of it"
    }
}

extension StoreLoop.Outcome {
    fileprivate var batchLine: String {
        let sizes = batches.sorted()
        let mean = sizes.reduce(0, +) / max(sizes.count, 1)
        return "\(sizes.count) batches, mean \(mean), median \(sizes[sizes.count / 2]), "
            + "largest \(sizes.last ?? 0); log emptied \(truncations) times, \(pages) pages written"
    }
}
