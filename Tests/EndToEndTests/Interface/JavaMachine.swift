import Foundation
import TestSupport

/// The library for Android with a program that drives it, in a JVM of its own.
final class JavaProgram {
    static let isInstalled =
        InstalledPrograms.path("javac") != nil && InstalledPrograms.path("java") != nil

    let directory: TemporaryDirectory
    private let driver: String
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    private var unread: [UInt8] = []
    /// The phone that it has in hand.
    fileprivate var current = 0
    fileprivate var count = 0

    /// - Parameter driver: the file below Tests/LibraryUse.
    init(drivenBy driver: String = "RegistrationLives") async throws {
        directory = try TemporaryDirectory()
        let path = Repository.absolute("Tests/LibraryUse/\(driver).java")
        let isInside = try String(contentsOfFile: path, encoding: .utf8).hasPrefix("package ")
        self.driver = (isInside ? "org.reveille." : "") + driver
        let library = try Repository.paths(in: "Sources/reveille-java", ending: ".java")
        try await Self.compile(library.map(Repository.absolute) + [path], into: directory.path)
    }

    /// - Parameter classes: what the files need beside the JVM's own.
    static func compile(
        _ files: [String], into directory: String, with classes: String? = nil
    ) async throws {
        let made = try await RunningProgram.run(
            path: InstalledPrograms.path("javac") ?? "javac",
            small.map { "-J" + $0 }
                + ["-Xlint:all,-options", "-Werror", "--release", "8", "-d", directory]
                + (classes.map { ["-cp", $0] } ?? []) + files)
        guard made.status == 0 else { throw TestFailure(made.output) }
    }

    /// A small JVM: it starts sooner.
    private static let small = ["-Xshare:auto", "-XX:TieredStopAtLevel=1", "-Xmx128m"]

    private var words: [String] { Self.small + ["-cp", directory.path, driver] }

    /// Starts it once more, with these words.
    /// - Parameter language: of the phone, and its country, such as `fa-IR`; nil: this machine's.
    /// - Parameter properties: of the JVM.
    func start(
        _ arguments: [String], language: String? = nil, input: [UInt8] = [],
        properties: [String] = []
    ) throws -> RunningProgram {
        let parts = (language ?? "").split(separator: "-")
        let locale = zip(["language", "country"], parts).map { "-Duser.\($0)=\($1)" }
        return try RunningProgram(
            path: InstalledPrograms.path("java") ?? "java",
            locale + properties + words + arguments, input: input)
    }

    /// A phone that was never started before.
    func phone() throws -> JavaMachine { try JavaMachine(self) }

    fileprivate func say(_ line: String) throws -> String {
        if !process.isRunning {
            process.executableURL = URL(filePath: InstalledPrograms.path("java") ?? "java")
            process.arguments = words
            process.standardInput = input
            process.standardOutput = output
            try process.run()
        }
        try input.fileHandleForWriting.write(contentsOf: Data((line + "\n").utf8))
        while true {
            if let end = unread.firstIndex(of: UInt8(ascii: "\n")) {
                let answer = String(decoding: unread[..<end], as: UTF8.self)
                unread.removeFirst(end + 1)
                return answer
            }
            let more = output.fileHandleForReading.availableData
            guard !more.isEmpty else { throw TestFailure("the JVM ended at \(line)") }
            unread += more
        }
    }

    deinit {
        try? input.fileHandleForWriting.close()
        if process.isRunning { process.terminate() }
    }
}

/// One phone of a `JavaProgram`.
struct JavaMachine: PhoneMachine {
    private let program: JavaProgram
    private let number: Int
    private var saved: String

    fileprivate init(_ program: JavaProgram) throws {
        self.program = program
        program.count += 1
        number = program.count
        program.current = number
        _ = try program.say("new")
        saved = try program.say("save")
    }

    private func say(_ words: String, now: Double? = nil) throws -> String {
        if program.current != number {
            program.current = number
            _ = try program.say("restore " + saved)
        }
        if let now { _ = try program.say("now \(Int(now))") }
        return try program.say(words)
    }

    /// A third each of Firebase, and of Web Push with and without keys.
    mutating func register(_ token: [UInt8], now: Double) throws {
        let hex = Self.hex(token)
        let endpoint = "webpush https://push.example.org/" + hex
        // The keys that clients send who read no message, see Policy/PROTOCOL.md.
        let keys =
            " BGsX0fLhLEJH-Lzm5WOkQPJ3A32BLeszoPShOUXYmMKWT-NC4v4af5uO5-tKfA-eFivOM1drMV7Oy7ZAa"
            + "De_UfU AAAAAAAAAAAAAAAAAAAAAA"
        let forms = ["fcm " + hex, endpoint, endpoint + keys]
        _ = try say("register " + forms[Int(token[0]) % 3], now: now)
    }

    mutating func erase(now: Double) throws { _ = try say("erase", now: now) }

    mutating func next(now: Double) throws -> PhoneStep {
        let words = try say("next", now: now).split(separator: " ").map(String.init)
        switch words.first {
        case "send":
            return .send(
                .init(
                    method: words[1], authorization: words[2] + " " + words[3],
                    body: words[4] == "-" ? nil : Self.bytes(words[4])))
        case "solve": return .solve
        case "wait": return .wait(Double(words[1]) ?? 0)
        default: return .rest
        }
    }

    mutating func received(
        _ status: Int, retryAfter: String?, body: [UInt8], now: Double
    ) throws {
        _ = try say("received \(status) \(retryAfter ?? "-") x\(Self.hex(body))", now: now)
    }

    mutating func failed(now: Double) throws { _ = try say("failed", now: now) }

    mutating func solve(while goesOn: Bool) throws -> Bool { try proof(while: goesOn) != nil }

    func proof(while goesOn: Bool = true) throws -> String? {
        let proof = try say("solve \(goesOn)")
        return proof == "-" ? nil : proof
    }

    mutating func kill() throws {
        saved = try say("save")
        _ = try say("kill")
    }

    /// Continues with what another app had saved.
    func restore(_ bytes: [UInt8]) throws { _ = try say("restore " + Self.hex(bytes)) }

    func isRegistered() throws -> Bool { try say("registered") == "REGISTERED" }

    private static func hex(_ bytes: [UInt8]) -> String {
        bytes.map { String(format: "%02x", $0) }.joined()
    }

    private static func bytes(_ hex: String) -> [UInt8] {
        let digits = hex.utf8.map { UInt8($0 < 58 ? $0 - 48 : $0 - 87) }
        return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }
}
