private import Glibc
import TestSupport

/// Durable registrations a second at 64 connections, beside the bare commit loop, in interleaved
/// rounds on the same disk and directory.
enum RegistrationsBenchmark {
    private static let help = """
        usage: bench registrations [--rounds 5] [--operations 40000] [--connections 64]
                                   [--directory DIR]

        Each round fills an empty store through its queue, then commits as many rows of the
        same size, in batches of the very sizes seen, in a bare loop in the same directory.
        The first round warms up and is not counted.
        """

    static func run(_ arguments: [String]) async -> Int32 {
        let options = Options(
            arguments, known: ["rounds", "operations", "connections", "directory"])
        guard options.unknown == nil else {
            print(help)
            return options.unknown == "--help" ? 0 : 2
        }
        do {
            return try await compare(
                rounds: options.number("rounds", default: 5),
                operations: options.number("operations", default: 40_000),
                connections: options.number("connections", default: 64),
                directory: options["directory"] ?? "/var/tmp")
        } catch {
            print("bench: \(error)")
            return 1
        }
    }

    private static func compare(
        rounds: Int, operations: Int, connections: Int, directory: String
    ) async throws -> Int32 {
        var ratios: [Double] = []
        var storeRates: [Double] = []
        var bareRates: [Double] = []
        for round in 0...rounds {
            let place = StorePlace(in: directory)
            let outcome = try await StoreLoop.run(
                directory: place.path, connections: connections, operations: operations)
            let bare = try BareLoop.run(directory: place.path, batches: outcome.batches)
            let store = outcome.measurement
            print(round == 0 ? "warm-up" : "round \(round)")
            print("  store: \(store.line)")
            print("         \(describe(outcome))")
            print("  bare:  \(bare.line)")
            guard round > 0 else { continue }
            ratios.append(store.rate / bare.rate)
            storeRates.append(store.rate)
            bareRates.append(bare.rate)
        }
        let percent = Int((median(ratios) * 100).rounded())
        print("median of \(rounds): store \(Int(median(storeRates)))/s, ", terminator: "")
        print("bare \(Int(median(bareRates)))/s, ratio \(percent) %")
        return percent >= 60 ? 0 : 1
    }

    private static func describe(_ outcome: StoreLoop.Outcome) -> String {
        let sizes = outcome.batches.sorted()
        let mean = sizes.reduce(0, +) / max(sizes.count, 1)
        return "\(sizes.count) batches, mean \(mean), median \(sizes[sizes.count / 2]), "
            + "largest \(sizes.last ?? 0); log emptied \(outcome.truncations) times, "
            + "\(outcome.pages) pages written"
    }
}
