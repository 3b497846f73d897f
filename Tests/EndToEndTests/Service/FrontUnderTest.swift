import Foundation
import TestSupport

/// A real front with its file of `Deploy` before a service on a Unix socket.
final class FrontUnderTest {
    /// The program, and what its shipped file is changed to for a test.
    struct Kind: Sendable, CustomStringConvertible {
        let description: String
        let file: String
        let isTellingNetworks: Bool
        /// The status for a request that the service does not take, because it is gone.
        let whenGone: String
        /// What makes it write the address of a client.
        let logging: @Sendable (String) -> String
        fileprivate let arguments: @Sendable (_ file: String, _ directory: String) -> [String]
        /// Pairs of what is shipped and what is here.
        fileprivate let changes:
            @Sendable (_ directory: String, _ socket: String, _ port: UInt16) -> [(String, String)]

        /// Where Debian and Ubuntu put it; nil when it is not installed.
        var program: String? {
            ["/usr/sbin/", "/usr/bin/"].map { $0 + description }
                .first { FileManager.default.isExecutableFile(atPath: $0) }
        }

        static let all = [nginx, haproxy, caddy]
        static let installed = all.filter { $0.program != nil }
    }

    let kind: Kind
    let directory: TemporaryDirectory
    private let reserved: WireServer
    private let running: RunningProgram

    var port: UInt16 { reserved.port }
    var certificate: String { directory.path + "/front.pem" }

    /// - Parameters:
    ///   - service: that listens on the socket `http.sock`.
    ///   - change: what a test changes in the configuration.
    init(
        _ kind: Kind, before service: ServiceUnderTest, change: (String) -> String = { $0 }
    ) async throws {
        self.kind = kind
        directory = try TemporaryDirectory()
        // All of them set SO_REUSEADDR on what they listen on.
        reserved = try WireServer.reservedPort()
        try await Self.certify(directory.path)
        var text = try Repository.text("Deploy/" + kind.file)
        let socket = service.directory.path + "/service/http.sock"
        for (shipped, here) in kind.changes(directory.path, socket, reserved.port) {
            guard text.contains(shipped) else { throw TestFailure("no \(shipped)") }
            text = text.replacing(shipped, with: here)
        }
        let path = directory.path + "/" + kind.file
        try change(text).write(toFile: path, atomically: true, encoding: .utf8)
        // What Caddy keeps, it keeps here.
        let (data, settings) = ("XDG_DATA_HOME=", "XDG_CONFIG_HOME=")
        let places = [data + directory.path, settings + directory.path]
        running = try RunningProgram(
            path: "/usr/bin/env",
            places + [kind.program ?? kind.description] + kind.arguments(path, directory.path))
        while (try? LoopbackClient(port: reserved.port)) == nil {
            guard running.end == nil else { throw TestFailure(running.output) }
            try Task.checkCancellation()
            await Task.yield()
        }
    }

    /// A service as this kind of front needs it.
    static func service(for kind: Kind) async throws -> ServiceUnderTest {
        try await ServiceUnderTest(
            listen: "unix:http.sock", extra: kind.isTellingNetworks ? "proxy-protocol = on" : "",
            // All come from one network, whose count grows by chance.
            sections: "\n[registration]\nnew-per-prefix = 1000\n")
    }

    /// - Returns: the exit status; haproxy's is that of the signal.
    func stop() async -> Int32 {
        running.signal(SIGTERM)
        return await running.exit()
    }

    /// What it said and left in any of its files, by name.
    func traces() throws -> [String: Data] {
        var traces = try FileSnapshot.files(below: directory.path)
        traces["output"] = Data(running.output.utf8)
        return traces
    }

    private static func certify(_ directory: String) async throws {
        let made = try await RunningProgram.run(
            path: "/usr/bin/openssl",
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                "-nodes", "-days", "2", "-subj", "/CN=wake.example.org", "-addext",
                "subjectAltName=DNS:wake.example.org,DNS:feed.example.org", "-keyout",
                directory + "/front.key", "-out", directory + "/front.pem",
            ])
        guard made.status == 0 else { throw TestFailure(made.output) }
        let both = try ["front.pem", "front.key"].map {
            try String(contentsOfFile: directory + "/" + $0, encoding: .utf8)
        }
        try both.joined().write(
            toFile: directory + "/both.pem", atomically: true, encoding: .utf8)
    }
}

extension FrontUnderTest.Kind {
    /// One process, so that nothing is left behind when a test fails.
    static let nginx = Self(
        description: "nginx", file: "nginx.conf", isTellingNetworks: false, whenGone: "502",
        logging: { text in
            text.replacing("access_log off;", with: "access_log access.log;")
                .replacing("error_log /dev/null crit;", with: "error_log error.log info;")
        },
        arguments: { ["-p", $1, "-c", $0, "-e", $1 + "/start.log"] },
        changes: { directory, socket, port in
            let places = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map {
                "    \($0)_temp_path \(directory)/\($0);\n"
            }
            let names = ["wake", "feed"].flatMap { name in
                [
                    ("/etc/ssl/certs/\(name).example.org.pem", directory + "/front.pem"),
                    ("/etc/ssl/private/\(name).example.org.key", directory + "/front.key"),
                ]
            }
            return [
                (
                    "user www-data;\n",
                    "daemon off;\nmaster_process off;\nerror_log stderr notice;\n"
                ),
                ("worker_rlimit_nofile 65536;\n", ""),
                ("pid /run/nginx.pid;", "pid \(directory)/nginx.pid;"),
                ("worker_connections 48000;", "worker_connections 2048;"),
                ("http {\n", "http {\n" + places.joined()),
                ("listen 443 ssl", "listen 127.0.0.1:\(port) ssl"),
                ("        listen [::]:443 ssl backlog=4096;\n", ""),
                ("        listen [::]:443 ssl;\n", ""), ("/run/reveille/http.sock", socket),
            ] + names
        })

    static let haproxy = Self(
        description: "haproxy", file: "haproxy.cfg", isTellingNetworks: true, whenGone: "503",
        logging: {
            $0.replacing(
                "frontend wake\n", with: "frontend wake\n    log stdout format raw local0\n")
        },
        arguments: { path, _ in ["-db", "-f", path] },
        changes: { directory, socket, port in
            [
                ("    user haproxy\n    group haproxy\n", ""),
                ("bind :443", "bind 127.0.0.1:\(port)"),
                ("/etc/ssl/private/wake.example.org.pem", directory + "/both.pem"),
                ("/etc/ssl/private/feed.example.org.pem", directory + "/both.pem"),
                ("maxconn 40000", "maxconn 1000"), ("/run/reveille/http.sock", socket),
            ]
        })

    static let caddy = Self(
        description: "caddy", file: "Caddyfile", isTellingNetworks: false, whenGone: "502",
        logging: { $0.replacing("output discard", with: "output stderr\n\t\tlevel DEBUG") },
        arguments: { path, _ in ["run", "--config", path, "--adapter", "caddyfile"] },
        changes: { directory, socket, port in
            ["wake", "feed"].map { name in
                (
                    "\n\(name).example.org {",
                    "\nhttps://\(name).example.org:\(port) {\n\tbind 127.0.0.1\n"
                        + "\ttls \(directory)/front.pem \(directory)/front.key\n"
                )
            } + [
                (
                    "admin {$CADDY_ADMIN:unix//var/lib/caddy/admin.sock}",
                    "admin unix/\(directory)/admin.sock\n\tauto_https disable_redirects"
                ),
                ("/run/reveille/http.sock", socket),
            ]
        })
}
