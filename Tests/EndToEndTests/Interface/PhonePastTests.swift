import Foundation
import ReveillePhone
import TestSupport
import Testing
import WakeFeed

@Suite("The state of a feed on phones, with a past", .timeLimit(.minutes(20)))
struct PhonePastTests {
    private static let count =
        ProcessInfo.processInfo.environment["REVEILLE_LONG"] == nil ? 60 : 5000

    @Test("the histories that are kept are read as Policy/FEED.md says")
    func vectors() throws {
        let folder = Repository.absolute("Tests/WakeFeedTests/Vectors/pasts")
        let names = try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0 != "b" }
        #expect(names.count > 7)
        for name in names { try compare(folder + "/" + name) }
    }

    @Test(
        "so are random ones, of another implementation",
        .enabled(if: PythonScript.has("cryptography"), "needs Python's cryptography"))
    func random() async throws {
        let directory = try TemporaryDirectory()
        let script = Repository.absolute("Tests/WakeFeedTests/Vectors/pasts.py")
        let made = try await RunningProgram.run(
            path: "/usr/bin/env",
            ["python3", "-B", script, "make", "38", "\(Self.count)", directory.path])
        #expect(made.status == 0, "\(made.output)")
        for number in 0..<Self.count { try compare(directory.path + "/\(number)") }
    }

    private func compare(_ folder: String) throws {
        let expected = try String(contentsOfFile: folder + "/result", encoding: .utf8)
        let said = try History(folder).lines.joined(separator: "\n")
        #expect(said == expected, "\(folder)")
    }
}

/// What a client says at each check of a history. It is killed after every line: only what it has
/// saved is left.
private struct History {
    private(set) var lines: [String] = []
    private var state: PhoneFeed
    private let folder: String
    private let policy: WitnessPolicy?
    private let secrets: LocalSecretSet

    init(_ folder: String) throws {
        self.folder = folder
        var key = try #require(FeedKey(bytes: Self.read(folder + "/key")))
        let policy = FileManager.default.contents(atPath: folder + "/policy")
        self.policy = try policy.map { try WitnessPolicy(Array($0)) }
        let words = try String(contentsOfFile: folder + "/secrets", encoding: .utf8).split {
            $0.isWhitespace
        }
        secrets = try LocalSecretSet(
            words.enumerated().map { number, hex in
                let digits = Array(hex.utf8)
                let bytes = try stride(from: 0, to: digits.count, by: 2).map {
                    try #require(
                        UInt8(String(decoding: digits[$0...$0 + 1], as: UTF8.self), radix: 16))
                }
                let secret = LocalSecret(id: "\(number)", bytes: bytes.span)
                return try #require(secret)
            })
        state = PhoneFeed(key: key)
        for step in 0... {
            let place = folder + "/\(step)"
            guard FileManager.default.fileExists(atPath: place) else { break }
            if let other = FileManager.default.contents(atPath: place + "/key") {
                key = try #require(FeedKey(bytes: Array(other)))
            }
            try check(place, key)
        }
    }

    private static func read(_ path: String) throws -> [UInt8] {
        Array(try Data(contentsOf: URL(filePath: path)))
    }

    private mutating func say(_ line: String) throws {
        lines.append(line)
        state = try JSONDecoder().decode(PhoneFeed.self, from: JSONEncoder().encode(state))
    }

    private mutating func check(_ place: String, _ key: FeedKey) throws {
        let head = try Self.read(place + "/head")
        let keys = state.needsKeys(for: head, key: key) ? try Self.read(place + "/keys") : nil
        let now = try #require(
            Int64(
                String(contentsOfFile: place + "/now", encoding: .utf8).trimmingCharacters(
                    in: .whitespacesAndNewlines)))
        do {
            let accepted = try state.accept(head, keys: keys, key: key, under: policy, now: now)
            try say(words(of: accepted))
        } catch let refusal as PhoneFeed.Refusal {
            let name =
                switch refusal {
                case .head(let error): error.name
                case .proof(let fault): "proof(\(fault))"
                }
            return try say("refused " + name)
        }
        let withheld = FileManager.default.contents(atPath: place + "/withheld") ?? Data()
        let hidden = Set(String(decoding: withheld, as: UTF8.self).split { $0.isWhitespace })
        for number in state.unchecked {
            guard try check(number, in: place, hidden) else { break }
        }
        try say(
            (["unchecked"] + state.unchecked.map { String($0) }).joined(separator: " "))
    }

    private func words(of accepted: PhoneFeed.Acceptance) -> String {
        var words = ["head"]
        for warning in accepted.warnings {
            switch warning {
            case .stale: words.append("stale")
            case .clockSkew: words.append("clockSkew")
            case .gap: words.append("gap")
            }
        }
        if !accepted.lost.isEmpty, words.last != "gap" { words.append("gap") }
        if accepted.isProofStale { words.append("staleProof") }
        return words.joined(separator: " ")
    }

    /// - Returns: false when there is nothing more to check.
    private mutating func check(
        _ number: UInt64, in place: String, _ hidden: Set<Substring>
    ) throws -> Bool {
        let name = try #require(state.head?.batchName(for: number))
        let files = [place + "/b/", folder + "/../b/"].lazy.compactMap {
            FileManager.default.contents(atPath: $0 + name)
        }
        guard !hidden.contains(Substring(name)), let file = files.first else {
            try say("\(number) absent")
            return true
        }
        do {
            let found = try state.check(number, Array(file), against: secrets)
            let matches = found.sorted { Int($0.secretID) ?? 0 < Int($1.secretID) ?? 0 }
            try say("\(number) ok")
            for match in matches {
                let note = match.note.map { $0.map { String(format: "%02x", $0) }.joined() }
                try say("\(number) match \(match.secretID) \(match.matchID.text) \(note ?? "-")")
            }
            return true
        } catch let error as FeedError {
            try say("\(number) \(error.name)")
            return error.name != "fork"
        }
    }
}

extension FeedError {
    fileprivate var name: String {
        switch self {
        case .rollback: "rollback"
        case .fork: "fork"
        default: "\(self)".replacing(/WakeFeed\.(HeadFault|BatchFault)\./, with: "")
        }
    }
}
