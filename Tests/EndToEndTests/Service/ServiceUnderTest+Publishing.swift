import Foundation
import TestSupport
import Testing
import WakeModel
import WakeSystem

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

    /// Rows in both files of a copy of the store; the service may go on.
    func rows() throws -> Int {
        let copy = try TemporaryDirectory()
        // The databases and their logs alone: other files come and go while one looks.
        var names: [String] = []
        try program.whileStopped {
            names = StorePlace.names(in: data).filter { $0.hasPrefix("generation-") }
            for name in names {
                try FileManager.default.copyItem(
                    atPath: data + "/" + name, toPath: copy.path + "/" + name)
            }
        }
        // A row that moves is in both for up to half a second.
        let files = names.filter { $0.hasSuffix(".db") }
            .sorted { ($0.count, $0) < ($1.count, $1) }.map { copy.path + "/" + $0 }
        let current = try Database(path: try #require(files.last), access: .readWrite)
        try current.execute("ATTACH '\(files[0])' AS previous")
        let count = try current.integer(
            """
            SELECT (SELECT count(*) FROM main.registration) + (SELECT count(*)
            FROM previous.registration WHERE id NOT IN (SELECT id FROM main.moved))
            """)
        return Int(try #require(count))
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
