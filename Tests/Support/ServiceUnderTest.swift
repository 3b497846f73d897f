package import Foundation
import WakeSystem

/// A real service in a directory of its own: `reveille init`, then `reveille serve` on port 0. It
/// serves APNs, by a mock that checks every request, so that push tokens can be registered.
package final class ServiceUnderTest {
    /// Which push services it has gateways for, besides those of `sections`.
    package enum Serving: Sendable {
        case apns
        case nothing
    }

    package let directory: TemporaryDirectory
    package private(set) var program: RunningProgram
    package private(set) var port: UInt16
    /// The feed's public key, as `init` printed it.
    package let feedKey: String
    /// Where its wake-ups arrive; nil when it serves nothing.
    package let push: LoopbackAPNs?

    package var configuration: String { directory.path + "/service/reveille.conf" }
    package var data: String { directory.path + "/service/data" }
    package var url: String { "http://127.0.0.1:\(port)" }

    /// - Parameters:
    ///   - listen: where the public listener is; a port of its own by default.
    ///   - extra: lines added to `[http]`.
    ///   - sections: added to the end of the configuration.
    ///   - serving: without a gateway push tokens are refused.
    ///   - environment: of the service until it is started again.
    package init(
        listen: String = "127.0.0.1:0", extra: String = "", sections: String = "",
        serving: Serving = .apns, environment: [String: String] = [:]
    ) async throws {
        directory = try TemporaryDirectory()
        push = serving == .apns ? try await LoopbackAPNs() : nil
        let made = try await RunningProgram.run("reveille", ["init", directory.path + "/service"])
        guard made.status == 0 else { throw TestFailure(made.output) }
        feedKey = try Self.word(after: "feed key: ", in: made.output)
        let path = directory.path + "/service/reveille.conf"
        var text = try String(contentsOfFile: path, encoding: .utf8)
        text = text.replacing("listen = 127.0.0.1:8080", with: "listen = \(listen)\n\(extra)")
        text = text.replacing("level = info", with: "level = debug")
        // Tests say themselves what is served.
        text = Self.without("webpush", text)
        text += (push?.section ?? "") + sections
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        (program, port) = try await Self.start(path, [], environment)
    }

    /// Starts again on the same directory, after a stop or a kill. The port changes.
    package func restart(_ options: [String] = []) async throws {
        (program, port) = try await Self.start(configuration, options)
    }

    /// The same with `data` on a disk of its own, such as "44m", that only the service sees: its
    /// files are then under `dataWithin`.
    /// - Returns: false when no such disk can be made here.
    package func restart(within size: String) async throws -> Bool {
        let reveille = RunningProgram.folder.appending(path: "reveille").path
        program = try RunningProgram(
            "store-worker", ["within", data, size, reveille, "serve", "--config", configuration])
        do {
            port = try await Self.port(of: program)
            return true
        } catch {
            if program.output.contains("skipped ") { return false }
            throw error
        }
    }

    package var dataWithin: String { "/proc/\(program.identifier)/root" + data }

    /// For the next start: no section of this name any more.
    package func removeSection(_ name: String) throws {
        let text = try String(contentsOfFile: configuration, encoding: .utf8)
        try Self.without(name, text).write(
            toFile: configuration, atomically: true, encoding: .utf8)
    }

    private static func without(_ name: String, _ text: String) -> String {
        var isIn = false
        return text.split(separator: "\n", omittingEmptySubsequences: false).filter { line in
            if line.hasPrefix("[") { isIn = line.hasPrefix("[\(name)]") }
            return !isIn
        }.joined(separator: "\n")
    }

    package func kill() async {
        program.signal(SIGKILL)
        _ = await program.exit()
    }

    /// - Returns: the exit status.
    package func stop() async -> Int32 {
        program.signal(SIGTERM)
        return await program.exit()
    }

    /// Runs an operator's command against this service.
    package func command(_ words: String..., input: [UInt8] = []) async throws -> (
        status: Int32, output: String
    ) {
        try await RunningProgram.run(
            "reveille", words + ["--config", configuration], input: input)
    }

    /// Every file of the service's directory, by path.
    package func files() throws -> [String: Data] {
        try FileSnapshot.files(below: directory.path + "/service")
    }

    /// The files that contain any of the needles, by path.
    package func files(containing needles: [[UInt8]]) throws -> [String] {
        FileSnapshot.names(of: try files(), containing: needles)
    }

    // MARK: Requests

    /// Sends one request on a connection of its own.
    package func send(
        _ method: String, _ path: String, token: String? = nil, body: [UInt8] = []
    ) throws -> WireResponse {
        let client = try LoopbackClient(port: port)
        return try client.exchange(method, path, token: token, body: body)
    }

    private static func start(
        _ configuration: String, _ options: [String] = [], _ environment: [String: String] = [:]
    ) async throws -> (RunningProgram, UInt16) {
        let program = try RunningProgram(
            "reveille", ["serve", "--config", configuration] + options, environment: environment)
        return (program, try await port(of: program))
    }

    private static func port(of program: RunningProgram) async throws -> UInt16 {
        let line = try await program.line(containing: "info started")
        if line.hasSuffix("info started-on-socket") { return 0 }
        guard let port = UInt16(try word(after: "port=", in: line)) else {
            throw TestFailure(line)
        }
        return port
    }

    package static func word(after mark: String, in text: String) throws -> String {
        guard let range = text.range(of: mark) else { throw TestFailure("no \(mark) in \(text)") }
        return String(text[range.upperBound...].prefix { !$0.isWhitespace })
    }
}

extension LoopbackClient {
    /// Sends one request on this connection and reads its answer.
    package func exchange(
        _ method: String, _ path: String, token: String? = nil, body: [UInt8] = []
    ) throws -> WireResponse {
        try ask(method, path, token: token, body: body)
        return try receiveResponse(toHead: method == "HEAD")
    }

    /// Asks for many registrations on 32 connections at once: an answer to one connection alone
    /// takes a millisecond and more.
    /// - Parameter answer: gets the answers in the order of the requests.
    package static func exchange(
        _ method: String, registrations: [(token: String, body: [UInt8])], port: UInt16,
        _ answer: (WireResponse) throws -> Void
    ) throws {
        let count = min(32, registrations.count)
        let clients = try (0..<count).map { _ in try LoopbackClient(port: port) }
        for start in stride(from: 0, to: registrations.count, by: max(1, count)) {
            let part = registrations[start..<min(start + count, registrations.count)]
            for (client, registration) in zip(clients, part) {
                try client.ask(
                    method, "/v1/registration", token: registration.token,
                    body: registration.body)
            }
            for (client, _) in zip(clients, part) { try answer(client.receiveResponse()) }
        }
    }

    /// The request alone; `receiveResponse` has the answer.
    private func ask(
        _ method: String, _ path: String, token: String? = nil, body: [UInt8] = []
    ) throws {
        var head = "\(method) \(path) HTTP/1.1\r\nHost: localhost\r\n"
        if let token { head += "Authorization: Bearer \(token)\r\n" }
        if !body.isEmpty {
            head += "Content-Type: application/json\r\nContent-Length: \(body.count)\r\n"
        }
        try send(Array((head + "\r\n").utf8) + body)
    }
}
