import Foundation
import TestSupport

/// A real nginx with the site of `Deploy/nginx.conf` before a service on a Unix socket.
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
    ///   - change: what a test changes in the site.
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
        let site = try Self.site(directory.path, socket, port: reserved.port)
        try change(site).write(
            toFile: directory.path + "/site.conf", atomically: true, encoding: .utf8)
        try Self.main(directory.path).write(
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

    /// The shipped site with places, port and certificate of this test.
    private static func site(
        _ directory: String, _ socket: String, port: UInt16
    ) throws -> String {
        let root = Repository.root
        var site = try String(
            contentsOf: root.appending(path: "Deploy/nginx.conf"), encoding: .utf8)
        for (shipped, here) in [
            ("listen 443 ssl;", "listen 127.0.0.1:\(port) ssl;"),
            ("    listen [::]:443 ssl;\n", ""),
            ("/etc/ssl/certs/wake.example.org.pem", directory + "/front.pem"),
            ("/etc/ssl/private/wake.example.org.key", directory + "/front.key"),
            ("/run/reveille/http.sock", socket),
        ] {
            guard site.contains(shipped) else { throw TestFailure("no \(shipped)") }
            site = site.replacing(shipped, with: here)
        }
        return site
    }

    /// Logs by default, as the nginx.conf of distributions does. One process, so that nothing is
    /// left behind when a test fails.
    private static func main(_ directory: String) -> String {
        """
        daemon off;
        master_process off;
        pid \(directory)/nginx.pid;
        error_log stderr notice;
        events { worker_connections 64; }
        http {
            access_log \(directory)/access.log;
            error_log \(directory)/error.log info;
            client_body_temp_path \(directory)/body;
            proxy_temp_path \(directory)/proxy;
            fastcgi_temp_path \(directory)/fastcgi;
            uwsgi_temp_path \(directory)/uwsgi;
            scgi_temp_path \(directory)/scgi;
            include \(directory)/site.conf;
        }
        """
    }
}
