import Foundation
import TestSupport

/// A real nginx with `Deploy/nginx.conf` before a service on a Unix socket.
final class FrontUnderTest {
    /// Where Debian and Ubuntu put it; nil when it is not installed.
    static let program = ["/usr/sbin/nginx", "/usr/bin/nginx"].first {
        FileManager.default.isExecutableFile(atPath: $0)
    }

    let directory: TemporaryDirectory
    private let reserved: WireServer
    private let nginx: RunningProgram

    var port: UInt16 { reserved.port }
    var url: String { "https://wake.example.org:\(port)" }
    var certificate: String { directory.path + "/front.pem" }

    /// - Parameters:
    ///   - socket: of the service.
    ///   - change: what a test changes in the configuration.
    init(before socket: String, change: (String) -> String = { $0 }) async throws {
        directory = try TemporaryDirectory()
        // nginx sets SO_REUSEADDR on what it listens on.
        reserved = try WireServer.reservedPort()
        let made = try await RunningProgram.run(
            path: "/usr/bin/openssl",
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                "-nodes", "-days", "2", "-subj", "/CN=wake.example.org", "-addext",
                "subjectAltName=DNS:wake.example.org", "-keyout", directory.path + "/front.key",
                "-out", directory.path + "/front.pem",
            ])
        guard made.status == 0 else { throw TestFailure(made.output) }
        let text = try Self.configuration(directory.path, socket, port: reserved.port)
        try change(text).write(
            toFile: directory.path + "/nginx.conf", atomically: true, encoding: .utf8)
        nginx = try RunningProgram(
            path: Self.program ?? "nginx",
            [
                "-p", directory.path, "-c", directory.path + "/nginx.conf", "-e",
                directory.path + "/start.log",
            ])
        _ = try await nginx.line(containing: "event method")
    }

    func stop() async -> Int32 {
        nginx.signal(SIGTERM)
        return await nginx.exit()
    }

    /// What nginx said and left in any of its files, by name.
    func traces() throws -> [String: Data] {
        var traces = try FileSnapshot.files(below: directory.path)
        traces["output"] = Data(nginx.output.utf8)
        return traces
    }

    /// The shipped file with places, port and certificate of this test. One process, so that
    /// nothing is left behind when a test fails.
    private static func configuration(
        _ directory: String, _ socket: String, port: UInt16
    ) throws -> String {
        var text = try String(
            contentsOf: Repository.root.appending(path: "Deploy/nginx.conf"), encoding: .utf8)
        let places = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map {
            "    \($0)_temp_path \(directory)/\($0);\n"
        }
        for (shipped, here) in [
            ("user www-data;\n", "daemon off;\nmaster_process off;\nerror_log stderr notice;\n"),
            ("worker_rlimit_nofile 65536;\n", ""),
            ("pid /run/nginx.pid;", "pid \(directory)/nginx.pid;"),
            ("worker_connections 48000;", "worker_connections 2048;"),
            ("http {\n", "http {\n" + places.joined()),
            ("listen 443 ssl backlog=4096;", "listen 127.0.0.1:\(port) ssl backlog=4096;"),
            ("        listen [::]:443 ssl backlog=4096;\n", ""),
            ("/etc/ssl/certs/wake.example.org.pem", directory + "/front.pem"),
            ("/etc/ssl/private/wake.example.org.key", directory + "/front.key"),
            ("/run/reveille/http.sock", socket),
        ] {
            guard text.contains(shipped) else { throw TestFailure("no \(shipped)") }
            text = text.replacing(shipped, with: here)
        }
        return text
    }
}
