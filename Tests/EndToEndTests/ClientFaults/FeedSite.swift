import Foundation
import TestSupport
import WakeSystem

/// A feed made by the program that ships, served by a web server that lies as told.
final class FeedSite: Sendable {
    /// What is answered for a path.
    enum Answer: Sendable {
        /// The file as it is.
        case file
        case bytes([UInt8])
        /// These bytes under a Content-Length that is not theirs; then the connection ends.
        case declared(Int, [UInt8])
        /// Exactly these bytes, after which the connection ends or goes on.
        case wire([UInt8], ends: Bool)
        /// What the request's `Range` asks for of these bytes, 416 when there is nothing there;
        /// of what is sent, only so much.
        case part([UInt8], cutAfter: Int?)
        /// These bytes and then more without an end, under this Content-Length if any.
        case endless(declared: Int?, after: [UInt8])
    }

    private typealias Rule = @Sendable (WireRequest) -> Answer

    private let directory: TemporaryDirectory
    /// Base64url.
    let key: String
    private let rule = Observed<Rule>({ _ in .file })
    private let served = Observed<[WireRequest]>([])
    private let server: WireServer

    var feed: String { directory.path + "/feed" }
    var keyFile: String { directory.path + "/feed.key" }
    var url: String { server.url + "/" }
    var requests: [WireRequest] { served.value }

    init() async throws {
        let directory = try TemporaryDirectory()
        self.directory = directory
        let made = try await RunningProgram.run(
            "reveille", ["feed", "init", directory.path + "/feed"])
        key = try ServiceUnderTest.word(after: "feed key: ", in: made.output)
        server = try WireServer { [rule, served, directory] peer in
            while let request = WireRequest(from: peer) {
                served.update { $0.append(request) }
                let name = String(request.path.dropFirst())
                let file = FileManager.default.contents(atPath: directory.path + "/feed/" + name)
                let answer = rule.value(request)
                guard Self.send(answer, Array(file ?? Data()), to: peer, for: request) else {
                    return
                }
            }
        }
    }

    deinit { server.refuse() }

    /// Answers by this rule from now on, by path below the feed's URL.
    func answer(_ rule: @escaping @Sendable (String) -> Answer) {
        self.rule.update { $0 = { rule(String($0.path.dropFirst())) } }
    }

    /// The same, by the whole request.
    func answerRequests(_ rule: @escaping @Sendable (WireRequest) -> Answer) {
        self.rule.update { $0 = rule }
    }

    /// Answers `head` so and every other file as it is.
    func answerHead(_ answer: Answer) { self.answer { $0 == "head" ? answer : .file } }

    /// Answers every batch so and other files as they are.
    func answerBatches(_ answer: Answer) { self.answer { $0.hasPrefix("b/") ? answer : .file } }

    /// The head as it is now.
    var head: [UInt8] { Array(FileManager.default.contents(atPath: feed + "/head") ?? Data()) }

    /// The newest batch as it is now.
    func newestBatch() throws -> [UInt8] {
        let names = try FileManager.default.contentsOfDirectory(atPath: feed + "/b").sorted()
        return Array(
            FileManager.default.contents(atPath: feed + "/b/" + (names.last ?? "")) ?? Data())
    }

    /// Publishes secrets (hexadecimal, a line each) as one batch, with one note for all.
    func publish(_ secret: String = TestDevice().pushText, note: String? = nil) async throws {
        var words: [String] = []
        if let note {
            let file = directory.path + "/note"
            try Data((note + "\n").utf8).write(to: URL(filePath: file))
            words = ["--note-file", file]
        }
        let answer = try await RunningProgram.run(
            "reveille",
            [
                "feed", "publish", "-", "--secrets", "--feed", feed, "--key", keyFile,
            ] + words, input: Array(secret.utf8))
        guard answer.status == 0 else { throw TestFailure(answer.output) }
    }

    /// A copy that another directory gets, to continue as a second history.
    func copy() throws -> TemporaryDirectory {
        let copy = try TemporaryDirectory()
        try FileManager.default.copyItem(atPath: feed, toPath: copy.path + "/feed")
        return copy
    }

    /// Puts another history in the place of this one.
    func replace(with copy: TemporaryDirectory) throws {
        try FileManager.default.removeItem(atPath: feed)
        try FileManager.default.copyItem(atPath: copy.path + "/feed", toPath: feed)
    }

    /// - Returns: whether the connection goes on.
    private static func send(
        _ answer: Answer, _ file: [UInt8], to peer: LoopbackClient, for request: WireRequest
    ) -> Bool {
        func head(_ length: Int?) -> [UInt8] {
            let field = length.map { "Content-Length: \($0)\r\n" } ?? "Connection: close\r\n"
            return Array("HTTP/1.1 200 OK\r\n\(field)\r\n".utf8)
        }
        do {
            switch answer {
            case .file: try peer.send(head(file.count) + file)
            case .bytes(let bytes): try peer.send(head(bytes.count) + bytes)
            case .declared(let length, let bytes):
                try peer.send(head(length) + bytes)
                return false
            case .wire(let bytes, let ends):
                try peer.send(bytes)
                return !ends
            case .part(let bytes, let cut): return try send(bytes, cut, to: peer, for: request)
            case .endless(let length, let bytes):
                try peer.send(head(length) + bytes)
                let piece = [UInt8](repeating: 0x57, count: 65_536)
                while true { try peer.send(piece) }
            }
        } catch {
            return false
        }
        return true
    }

    /// As a server that knows `bytes=N-` and `bytes=N-M` (RFC 9110 §14.1.2).
    private static func send(
        _ bytes: [UInt8], _ cut: Int?, to peer: LoopbackClient, for request: WireRequest
    ) throws -> Bool {
        let range = request["Range"].map { $0.dropFirst("bytes=".count).split(separator: "-") }
        let first = range?.first.flatMap { Int($0) } ?? 0
        guard first < bytes.count else {
            try peer.send("HTTP/1.1 416 No\r\nContent-Length: 0\r\n\r\n")
            return true
        }
        let last = min(range?.dropFirst().first.flatMap { Int($0) } ?? .max, bytes.count - 1)
        let rest = bytes[first...last]
        let status =
            range == nil
            ? "200 OK"
            : "206 Part\r\nContent-Range: bytes \(first)-\(last)/\(bytes.count)"
        try peer.send("HTTP/1.1 \(status)\r\nContent-Length: \(rest.count)\r\n\r\n")
        try peer.send(Array(rest.prefix(cut ?? rest.count)))
        return (cut ?? .max) >= rest.count
    }
}
