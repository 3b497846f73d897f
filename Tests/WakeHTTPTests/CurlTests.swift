import Dispatch
import Foundation
import TestSupport
import Testing
import WakeSystem

@testable import WakeHTTP

/// The command-line client everybody has, as a second opinion on what we send.
private enum Curl {
    static let path = ["/usr/bin/curl", "/bin/curl"].first {
        FileManager.default.isExecutableFile(atPath: $0)
    }

    /// Standard output, when curl is content.
    static func run(_ arguments: [String]) async throws -> String {
        let process = Process()
        process.executableURL = URL(filePath: try #require(path))
        process.arguments = ["--silent", "--show-error", "--max-time", "240"] + arguments
        let output = Pipe()
        process.standardOutput = output
        // The environment may name proxies and configuration files: this is a talk between two.
        process.environment = [:]
        try process.run()
        let text: String = await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                let data = output.fileHandleForReading.readDataToEndOfFile()
                process.waitUntilExit()
                continuation.resume(returning: String(decoding: data, as: UTF8.self))
            }
        }
        try #require(process.terminationStatus == 0)
        return text
    }
}

@Suite(
    "curl", .enabled(if: Curl.path != nil, "curl is not installed"),
    .disabled(if: Sanitizer.isActive, "Foundation.Process trips the address sanitizer"),
    .timeLimit(.minutes(5)))
struct CurlTests {
    @Test("puts a body after it was told to go on, and reuses the connection")
    func putTwice() async throws {
        var limits = HTTPLimits()
        limits.request.bodyBytes = 2 << 20
        try await LiveServer.run(limits: limits, handler: Handlers.echo) { live in
            let directory = try TemporaryDirectory()
            let file = try BodyFile.make(in: directory, size: 1_500_000)
            let url = "http://127.0.0.1:\(live.port)/a?b"
            let text = try await Curl.run([
                "--http1.1", "--expect100-timeout", "200", "--header", "Expect: 100-continue",
                "--write-out", " %{http_code} %{num_connects}\n", "--upload-file", file, url,
                "--next", "--silent", "--write-out", " %{http_code} %{num_connects}\n",
                "--data", "abc", url,
            ])
            #expect(text == "put /a?b 1500000 200 1\npost /a?b 3 200 0\n")
        }
    }

    @Test("reads heads, files and refusals as they are meant")
    func answers() async throws {
        let directory = try TemporaryDirectory()
        let path = try BodyFile.make(in: directory, size: 300_000)
        let handler: RequestHandler = { request, responder in
            responder.respond(BodyFile.response(path, offset: 1, count: 299_999))
        }
        try await LiveServer.run(handler: handler) { live in
            let url = "http://127.0.0.1:\(live.port)/"
            let copy = directory.path + "/copy"
            _ = try await Curl.run(["--output", copy, url])
            let expected = BodyFile.bytes(count: 300_000).dropFirst()
            #expect(FileManager.default.contents(atPath: copy).map(Array.init) == Array(expected))
            let head = try await Curl.run(["--head", url])
            #expect(head.contains("Content-Length: 299999\r\n"))
            let refused = try await Curl.run([
                "--header", "Transfer-Encoding: chunked", "--data", "abc",
                "--write-out", "%{http_code}", "--output", "/dev/null", url,
            ])
            #expect(refused == "501")
            let large = try await Curl.run([
                "--upload-file", path, "--write-out", "%{http_code}", "--output", "/dev/null", url,
            ])
            #expect(large == "413")
        }
    }

    @Test("reads streamed responses, of either version, and reuses the connection")
    func chunks() async throws {
        let responses = StreamedResponses()
        let begin = responses.handler()
        let handler: RequestHandler = { request, responder in
            begin(request, responder)
            let answer = responses[responses.count - 1]
            DispatchQueue.global().async {
                for index in 0..<1_000 { answer.send(Array("line \(index)\n".utf8)) }
                answer.finish()
            }
        }
        let lines = (0..<1_000).map { "line \($0)\n" }.joined()
        try await LiveServer.run(handler: handler) { live in
            let url = "http://127.0.0.1:\(live.port)/chunks"
            let text = try await Curl.run([
                "--http1.1", "--write-out", "%{num_connects}\n", url, url,
            ])
            #expect(text == lines + "1\n" + lines + "0\n")
            #expect(try await Curl.run(["--http1.0", url]) == lines)
            #expect(responses.lost.value == 0)
        }
    }

    @Test("talks over a Unix socket")
    func unixSocket() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/s"
        let listener = ListenerConfiguration(
            .unix(path: path, mode: 0o600), handler: Handlers.echo)
        try await LiveServer.run([listener]) { _ in
            let text = try await Curl.run(["--unix-socket", path, "http://localhost/a"])
            #expect(text == "get /a 0")
        }
    }
}
