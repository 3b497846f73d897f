import Foundation
import TestSupport

/// Finds the time within which a program that takes ever so long can be killed in its midst: it
/// grows with every kill and falls to what a program took that was faster.
struct KillWindow {
    private var length = Duration.milliseconds(20)
    private(set) var kills = 0

    /// Whether there is to be another round: there are more than `rounds` until `least` kills have
    /// met the program alive, for when they fall is up to the machine.
    func isOpen(_ round: Int, rounds: Int, kills least: Int) -> Bool {
        round < rounds || kills < least
    }

    /// Starts a program and kills it at a random moment.
    /// - Returns: whether the kill came before its end.
    mutating func kill(_ start: () throws -> RunningProgram) async throws -> Bool {
        let begin = ContinuousClock.now
        let program = try start()
        program.signal(SIGKILL, after: length * Double.random(in: 0..<1))
        let wasKilled = await program.exit() == -SIGKILL
        if wasKilled {
            kills += 1
            length = min(length * 1.2, .milliseconds(1500))
        } else {
            length = max((program.end ?? .now) - begin, .milliseconds(2))
        }
        return wasKilled
    }
}
