private import Foundation
private import Glibc
private import Synchronization
private import TestSupport

/// Durable registrations a second while a round of pushes runs, beside the same service at rest.
enum BroadcastLoadBenchmark {
    private static let help = """
        usage: bench broadcast [--rows 1000000] [--fetches 12000] [--rounds 3]
                               [--gone 64] [--operations 40000] [--connections 64]

        Fills a store with numbered push tokens, and registers fresh ones over HTTP: with
        nothing else to do, and while the service sends a wake-up to everyone, to a mock push
        service on the same machine. --fetches is the budget that paces the pushes; 0: as many
        as the machine can. Every --gone-th push token is called gone and deleted; 0: none.
        """

    static func run(_ arguments: [String]) async -> Int32 {
        let options = Options(
            arguments, known: ["rows", "fetches", "rounds", "gone", "operations", "connections"])
        return await options.run(help: help, compare)
    }

    private static func compare(_ options: Options) async throws -> Int32 {
        let gone = options.number("gone", default: 64)
        var choices = PushingService.Choices()
        if gone > 0 { choices.flags = ["--answer", "\(gone):410:Unregistered"] }
        let place = try await PushingService(choices)
        let rows = options.number("rows", default: 1_000_000)
        let fetches = options.number("fetches", default: 12_000)
        print("filling \(rows) rows")
        try await place.restart(
            broadcast: "fetches-per-second = \(fetches)", filled: rows, isPacedByBudget: true)
        var ratios: [Double] = []
        var longestLog = 0
        for round in 0...options.number("rounds", default: 3) {
            print(round == 0 ? "warm-up" : "round \(round)")
            let quiet = try load(place, options)
            print("  at rest:  \(quiet.line)")
            let log = LogWatch(place.path("data/registrations.db-wal"))
            try await place.startRound()
            let begun = try await place.progress { $0.run > 0 && $0.accepted > 0 }
            let busy = try load(place, options)
            let after = try place.progress()
            longestLog = max(longestLog, log.stop())
            print("  in round: \(busy.line)")
            let seconds = Double(after.milliseconds - begun.milliseconds) / 1000
            let rate = Int(Double(after.accepted - begun.accepted) / seconds)
            print(
                "            \(rate) pushes/s, "
                    + "\(after.deleted) deleted, log at most \(longestLog >> 20) MiB"
                    + (after.running ? "" : "; THE ROUND ENDED FIRST"))
            fflush(nil)
            if round > 0 {
                ratios.append(after.running ? busy.rate / quiet.rate : 0)
            }
            try await place.progress { !$0.running }
            guard await place.service.stop() == 0 else { return 1 }
            try place.forgetRounds()
            try await place.service.restart()
        }
        let ratio = median(ratios)
        let isMet = ratio >= 0.9 && longestLog < 32 << 20
        print("median \(Int((ratio * 100).rounded())) % of the rate at rest")
        print("at least 90 %, and a log under 32 MiB: \(isMet ? "met" : "MISSED")")
        return isMet ? 0 : 1
    }

    private static func load(_ place: PushingService, _ options: Options) throws -> Measurement {
        guard let address = ServiceAddress(place.service.url) else {
            throw HTTPLoad.Failure.notListening
        }
        return try HTTPLoad.run(
            address, connections: options.number("connections", default: 64),
            operations: options.number("operations", default: 40_000),
            process: Int(place.service.program.identifier))
    }
}

/// Looks at a file's length, every ten milliseconds until it is told to stop.
private final class LogWatch: Sendable {
    private struct State {
        var most = 0
        var isOver = false
    }
    private let state = Mutex(State())

    init(_ path: String) {
        Thread.detachNewThread { [weak self] in
            while let self, !self.look(path) { poll(nil, 0, 10) }
        }
    }

    private func look(_ path: String) -> Bool {
        var status = stat()
        let size = unsafe stat(path, &status) == 0 ? Int(status.st_size) : 0
        return state.withLock { state in
            state.most = max(state.most, size)
            return state.isOver
        }
    }

    /// - Returns: the most there was, bytes.
    func stop() -> Int {
        state.withLock { state in
            state.isOver = true
            return state.most
        }
    }
}
