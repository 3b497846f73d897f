import Foundation
import Glibc
import TestSupport
import Testing

@testable import WakeFetch

/// `openssl s_server`, which answers every request with a page about its connection.
struct TLSServer {
    let port: UInt16
    private let program: RunningProgram

    init(_ shown: (certificate: String, key: String), options: [String] = []) async throws {
        program = try RunningProgram(
            path: "/usr/bin/env",
            [
                "openssl", "s_server", "-accept", "127.0.0.1:0", "-cert", shown.certificate,
                "-key", shown.key, "-www",
            ] + options)
        let line = try await program.line(containing: "ACCEPT 127.0.0.1:")
        port = try #require(line.split(separator: ":").last.flatMap { UInt16($0) })
    }

    func stop() { program.signal(SIGKILL) }

    func url(_ host: String = "localhost") throws -> FetchURL {
        try FetchURL("https://\(host):\(port)/")
    }
}

/// `nghttpd`, until stopped.
struct HTTP2Server {
    /// What it wrote about its clients.
    struct Log {
        var connections = 0
        var requests = 0
        /// `name: value` of every request field, in order.
        var fields: [String] = []
    }

    static let isInstalled = InstalledPrograms.path("nghttpd") != nil

    let port: UInt16
    private let place: WireServer
    private let program: RunningProgram

    init(_ shown: (certificate: String, key: String), options: [String] = []) async throws {
        place = try WireServer.reservedPort()
        port = place.port
        program = try RunningProgram(
            path: try #require(InstalledPrograms.path("nghttpd")),
            ["-a", "127.0.0.1"] + options + ["\(port)", shown.key, shown.certificate])
        while (try? LoopbackClient(port: port)) == nil {
            try Task.checkCancellation()
            await Task.yield()
        }
    }

    /// Ends it and tells what it saw, if `-v` was among its options.
    func stop() async -> Log {
        program.signal(SIGKILL)
        _ = await program.exit()
        var log = Log()
        var seen: Set<Substring> = []
        for line in program.output.split(separator: "\n") {
            guard let mark = line.firstRange(of: "[id="),
                let end = line[mark.upperBound...].firstIndex(of: "]")
            else { continue }
            if line.contains("recv HEADERS frame") {
                seen.insert(line[mark.upperBound..<end])
                log.requests += 1
            }
            guard let field = line.firstRange(of: "recv (stream_id="),
                let start = line[field.upperBound...].firstRange(of: ") ")
            else { continue }
            log.fields.append(String(line[start.upperBound...]))
        }
        log.connections = seen.count
        return log
    }
}
