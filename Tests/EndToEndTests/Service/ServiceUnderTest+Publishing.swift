import Foundation
import TestSupport
import Testing
import WakeModel
import WakeSQLite

extension ServiceUnderTest {
    /// Publishes secrets (hexadecimal) with a note for each, and waits for the end.
    func publish(
        _ secrets: [String], notes: [String], _ words: String...
    ) async throws -> RunningProgram {
        let program = try startPublishing(secrets, notes: notes, words)
        #expect(await program.exit() == 0, "\(program.output)")
        return program
    }

    /// Starts to publish secrets (hexadecimal) with a note for each.
    func startPublishing(
        _ secrets: [String], notes: [String], _ words: [String] = []
    ) throws -> RunningProgram {
        var options = ["--secrets", "--config", configuration] + words
        if !notes.isEmpty {
            let path = directory.path + "/notes"
            try notes.joined(separator: "\n").write(
                toFile: path, atomically: true, encoding: .utf8)
            options += ["--note-file", path]
        }
        return try RunningProgram(
            "reveille", ["feed", "publish", "-"] + options,
            input: Array(secrets.joined(separator: "\n").utf8))
    }

    /// Rows in both tables of a copy of the store; the service may go on.
    func rows() throws -> Int {
        let copy = try TemporaryDirectory()
        // The database and its log alone: other files beside them come and go while one looks.
        try program.whileStopped {
            for name in ["registrations.db", "registrations.db-wal"]
            where FileManager.default.fileExists(atPath: data + "/" + name) {
                try FileManager.default.copyItem(
                    atPath: data + "/" + name, toPath: copy.path + "/" + name)
            }
        }
        let database = try Database(
            path: copy.path + "/registrations.db", access: .readWrite)
        let count = try database.integer(
            "SELECT (SELECT count(*) FROM registration_a)+(SELECT count(*) FROM registration_b)")
        return Int(count ?? -1)
    }
}

/// An instance token, as it crossed the wire.
struct SeenToken {
    /// 43 characters of base64url.
    let text: String
    /// 32 bytes.
    let bytes: [UInt8]

    /// Everything that must not be found: raw, base64url, hexadecimal in both cases.
    var forms: [[UInt8]] {
        let hex = Hex.encode(bytes.span)
        let upper = Array(String(decoding: hex, as: UTF8.self).uppercased().utf8)
        return [bytes, Array(text.utf8), hex, upper]
    }
}

extension FaultyFront {
    /// The newest instance token that a request carried.
    var instanceToken: SeenToken? {
        let mark = "Bearer "
        let values = requests.compactMap { $0["Authorization"] }
        guard let value = values.last, value.hasPrefix(mark) else { return nil }
        let text = String(value.dropFirst(mark.count))
        return Base64URL.decode(Array(text.utf8).span).map { SeenToken(text: text, bytes: $0) }
    }
}
