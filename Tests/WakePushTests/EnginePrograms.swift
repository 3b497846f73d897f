import CLinux
import Foundation
import Glibc
import TestSupport

/// Servers of others, found on this machine.
enum EnginePrograms {
    static let nghttpd = find("nghttpd")
    static let haproxy = find("haproxy")
    static let node = find("node")

    private static func find(_ name: String) -> String? {
        // Some of these are installed for administrators, whose folders are not on every path.
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        let folders =
            path.split(separator: ":").map(String.init) + ["/usr/sbin", "/usr/local/sbin"]
        return folders.map { "\($0)/\(name)" }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    /// A port that nobody listens on: for programs that cannot say which one they were given.
    static func freePort() throws -> UInt16 {
        let listener = unsafe linux_listen_tcp("127.0.0.1", 0, 1)
        guard listener >= 0 else { throw TestFailure("loopback cannot be listened on") }
        defer { _ = close(listener) }
        return UInt16(linux_bound_port(listener))
    }

    /// haproxy with certificate and key in one file, as it wants them.
    /// - Parameter body: sections beyond the global one.
    static func haproxy(
        _ path: String, _ identity: EngineServer.TLS, in folder: TemporaryDirectory, _ body: String
    ) throws -> RunningProgram {
        let both =
            try String(contentsOfFile: identity.chain, encoding: .utf8)
            + String(contentsOfFile: identity.key, encoding: .utf8)
        try both.write(toFile: "\(folder.path)/both.pem", atomically: true, encoding: .utf8)
        let text = """
            global
                maxconn 100
            defaults
                timeout connect 5s
                timeout client 30s
                timeout server 30s

            """
        let file = "\(folder.path)/haproxy.cfg"
        try (text + body).write(toFile: file, atomically: true, encoding: .utf8)
        return try RunningProgram(path: path, ["-db", "-f", file])
    }
}
