import Foundation

/// A witness of other make, Tests/Witnesses/witness.py, which ends with this object.
package final class WitnessPeer: Sendable {
    /// Its standard output has a line for each request that it has answered.
    package let program: RunningProgram
    package let port: Int
    /// Its verification key as a note key of C2SP signed-note.
    package let key: String

    /// - Parameters:
    ///   - log: the note key of the one log that it knows.
    ///   - behaviour: a word of the script's.
    ///   - seed: of its signing key, 64 hexadecimal digits.
    package init(
        name: String = "w.example/peer", log: String, behaviour: String = "honest",
        seed: String = String(repeating: "6b", count: 32)
    ) async throws {
        program = try RunningProgram(
            path: "/usr/bin/env",
            [
                "python3", "-B", Repository.absolute("Tests/Witnesses/witness.py"), "--name", name,
                "--seed", seed, "--log=\(log)", "--behaviour", behaviour,
            ])
        let line = try await program.line(containing: "\"port\"")
        guard
            let facts = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any],
            let port = facts["port"] as? Int, let key = facts["vkey"] as? String
        else { throw TestFailure(line) }
        (self.port, self.key) = (port, key)
    }

    package var url: String { "http://127.0.0.1:\(port)" }
}
