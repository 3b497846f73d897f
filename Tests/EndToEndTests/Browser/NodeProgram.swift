import Foundation
import TestSupport
import Testing

/// The module for browsers in Node, driven by `Tests/LibraryUse/webclient.mjs`.
final class NodeProgram {
    static let isInstalled = InstalledPrograms.path("node") != nil
    static let missing: Comment = "no node (Debian: nodejs)"

    private static let driver = Repository.absolute("Tests/LibraryUse/webclient.mjs")
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    private var unread: [UInt8] = []

    /// Starts it with other words than `machine`.
    /// - Parameter variables: of its environment, such as `REVEILLE_KILL=3`.
    static func start(
        _ arguments: [String], _ variables: [String] = [], input: [UInt8] = []
    ) throws -> RunningProgram {
        try RunningProgram(
            path: "/usr/bin/env", variables + ["node", driver] + arguments, input: input)
    }

    /// Starts it with the word `machine`.
    init() throws {
        process.executableURL = URL(filePath: InstalledPrograms.path("node") ?? "node")
        process.arguments = [Self.driver, "machine"]
        process.standardInput = input
        process.standardOutput = output
        try process.run()
    }

    /// One command to the machine, and its answer.
    func say(_ line: String) throws -> String {
        try input.fileHandleForWriting.write(contentsOf: Data((line + "\n").utf8))
        while true {
            if let end = unread.firstIndex(of: UInt8(ascii: "\n")) {
                defer { unread.removeFirst(end + 1) }
                return String(decoding: unread[..<end], as: UTF8.self)
            }
            let more = output.fileHandleForReading.availableData
            guard !more.isEmpty else { throw TestFailure("node ended at \(line)") }
            unread += more
        }
    }

    deinit {
        try? input.fileHandleForWriting.close()
        if process.isRunning { process.terminate() }
    }
}

/// A page's registration, in a process that many share: each brings what it had saved.
struct NodeMachine: PhoneMachine {
    private let program: NodeProgram
    private var saved: String

    init(_ program: NodeProgram) throws {
        self.program = program
        _ = try program.say("new")
        saved = try program.say("save")
    }

    /// Continues with a state.
    init(_ program: NodeProgram, state: String) {
        self.program = program
        saved = hex(Array(state.utf8))
    }

    private mutating func change(_ words: String, now: Double) throws {
        _ = try program.say("restore " + saved)
        _ = try program.say("now \(Int(now))")
        _ = try program.say(words)
        saved = try program.say("save")
    }

    /// A third each of Firebase, and of Web Push with and without keys.
    mutating func register(_ token: [UInt8], now: Double) throws {
        let endpoint = "webpush https://push.example.org/" + hex(token)
        let keys =
            " BGsX0fLhLEJH-Lzm5WOkQPJ3A32BLeszoPShOUXYmMKWT-NC4v4af5uO5-tKfA-eFivOM1drMV7Oy7ZAa"
            + "De_UfU AAAAAAAAAAAAAAAAAAAAAA"
        let forms = ["fcm " + hex(token), endpoint, endpoint + keys]
        try change("register " + forms[Int(token[0]) % 3], now: now)
    }

    mutating func erase(now: Double) throws { try change("erase", now: now) }

    mutating func next(now: Double) throws -> PhoneStep {
        _ = try program.say("restore " + saved)
        _ = try program.say("now \(Int(now))")
        let words = try program.say("next").split(separator: " ").map(String.init)
        saved = try program.say("save")
        switch words.first {
        case "send":
            return .send(
                .init(
                    method: words[1], authorization: words[2] + " " + words[3],
                    body: words[4] == "-" ? nil : bytes(words[4])))
        case "solve": return .solve
        case "wait": return .wait(Double(words[1]) ?? 0)
        default: return .rest
        }
    }

    mutating func received(
        _ status: Int, retryAfter: String?, body: [UInt8], now: Double
    ) throws {
        try change("received \(status) \(retryAfter ?? "-") x\(hex(body))", now: now)
    }

    mutating func failed(now: Double) throws { try change("failed", now: now) }

    mutating func solve(while goesOn: Bool) throws -> Bool {
        try proof(while: goesOn) != nil
    }

    mutating func proof(while goesOn: Bool = true) throws -> String? {
        _ = try program.say("restore " + saved)
        let proof = try program.say("solve \(goesOn)")
        saved = try program.say("save")
        return proof == "-" ? nil : proof
    }

    /// Everything is saved at once.
    mutating func kill() throws {}

    func isRegistered() throws -> Bool {
        _ = try program.say("restore " + saved)
        return try program.say("registered") == "true"
    }
}

private func hex(_ bytes: [UInt8]) -> String {
    bytes.map { String(format: "%02x", $0) }.joined()
}

private func bytes(_ hex: String) -> [UInt8] {
    let digits = hex.utf8.map { UInt8($0 < 58 ? $0 - 48 : $0 - 87) }
    return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
}
