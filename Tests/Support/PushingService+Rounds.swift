private import Foundation

extension PushingService {
    /// Stops the service and starts it anew with other lines in its configuration.
    /// - Parameters:
    ///   - lines: of `[broadcast]`, each in the place of what was said before.
    ///   - filled: registers so many numbered push tokens while it is down.
    ///   - isPacedByBudget: takes the feed's head away. Without one clients do not spread their
    ///     fetches, and the pushes themselves leave no faster than the budget.
    package func restart(
        broadcast lines: String..., filled: Int = 0, isPacedByBudget: Bool = false
    ) async throws {
        guard await service.stop() == 0 else { throw TestFailure("the service did not stop well") }
        if filled > 0 { try fill(filled) }
        if isPacedByBudget { try FileManager.default.removeItem(atPath: path("feed/head")) }
        try configure(lines)
        try await service.restart()
    }

    /// For the next start.
    package func configure(_ lines: [String]) throws {
        let names = lines.map { $0.prefix { $0 != " " } }
        var text = try String(contentsOfFile: service.configuration, encoding: .utf8)
        text = text.split(separator: "\n", omittingEmptySubsequences: false).filter { line in
            !names.contains { line.hasPrefix($0 + " =") }
        }.joined(separator: "\n")
        text += "\n[broadcast]\n" + lines.joined(separator: "\n") + "\n"
        try text.write(toFile: service.configuration, atomically: true, encoding: .utf8)
    }

    /// Registers numbered push tokens; the service must be stopped.
    private func fill(_ count: Int) throws {
        let worker = StoreWorkerProcess(
            "fill", data: service.data, keys: path("keys/registration.key"), [0, count])
        let lines = worker.lines()
        guard worker.finish() == 0, lines.contains("filled \(count)") else {
            throw TestFailure("filling: \(lines)")
        }
    }

    /// A file of the service's directory.
    package func path(_ name: String) -> String { service.directory.path + "/service/" + name }

    /// What the admin socket tells about the round that runs, or the last one, in full.
    package struct Progress: Decodable, Sendable {
        package let running: Bool
        package let complete: Bool
        package let run: Int
        /// 0 to 1.
        package let progress: Double
        package let rows: Int
        package let accepted: Int
        package let gone: Int
        package let deleted: Int
        package let retried: Int
        package let abandoned: Int
        package let duplicates: Int
        package let unsent: Int
        package let milliseconds: Int
        package let line: String

        package var permille: Int { Int((progress * 1000).rounded()) }
    }

    package func progress() throws -> Progress {
        let client = try LoopbackClient(path: path("admin.sock"))
        let answer = try client.exchange("GET", "/v1/broadcast")
        return try JSONDecoder().decode(Progress.self, from: Data(answer.body))
    }

    /// Asks again and again until the round is as wanted; each answer is waited for.
    @discardableResult
    package func progress(where isWanted: (Progress) -> Bool) async throws -> Progress {
        while true {
            let progress = try progress()
            if isWanted(progress) { return progress }
            try Task.checkCancellation()
            await Task.yield()
        }
    }

    /// Stops the service within a round whose answers are held back. They leave once its admin
    /// socket takes no connection any more: from then on the round begins nothing new.
    /// - Returns: the exit status.
    package func stop(releasing held: HeldAnswers) async throws -> Int32 {
        service.program.signal(SIGTERM)
        while (try? LoopbackClient(path: path("admin.sock"))) != nil {
            try Task.checkCancellation()
            await Task.yield()
        }
        try held.release()
        return await service.program.exit()
    }

    /// Starts a round and does not wait for it.
    package func startRound() async throws {
        let (status, output) = try await broadcast("--no-wait")
        guard status == 0 else { throw TestFailure(output) }
    }
}
