import Glibc

@testable import WakeFetch

/// The `openssl` command, for certificates and TLS servers that are not ours.
enum OpenSSL {
    static let isInstalled: Bool = {
        guard let child = Child(["openssl", "version"]) else { return false }
        return child.wait() == 0
    }()

    /// Runs it to its end; false if it failed.
    static func run(_ arguments: [String]) -> Bool {
        Child(["openssl"] + arguments)?.wait() == 0
    }
}

/// A child process whose standard output and error can be read.
final class Child: Sendable {
    let process: pid_t
    private let output: Int32

    /// Closes what the child inherited before it becomes the command: other tests wait for their
    /// connections to be closed.
    private static let launcher = """
        for f in /proc/$$/fd/*; do n=${f##*/}; ((n > 2)) && eval "exec $n>&-"; done; exec "$@"
        """

    /// nil if it cannot be started.
    init?(_ command: [String]) {
        var ends: [Int32] = [0, 0]
        guard unsafe pipe(&ends) == 0 else { return nil }
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        unsafe posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        unsafe posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
        unsafe posix_spawn_file_actions_adddup2(&actions, ends[1], 2)
        var process = pid_t()
        let arguments = ["bash", "-c", Self.launcher, "bash"] + command
        var list: [UnsafeMutablePointer<CChar>?] = unsafe arguments.map { unsafe strdup($0) }
        unsafe list.append(nil)
        let status = unsafe posix_spawnp(&process, "bash", &actions, nil, list, environ)
        unsafe list.forEach { unsafe free($0) }
        unsafe posix_spawn_file_actions_destroy(&actions)
        close(ends[1])
        guard status == 0 else {
            close(ends[0])
            return nil
        }
        self.process = process
        output = ends[0]
    }

    deinit { close(output) }

    /// The next line of output; nil at its end.
    func line() -> String? {
        var bytes: [UInt8] = []
        var byte: UInt8 = 0
        while unsafe read(output, &byte, 1) == 1 {
            if byte == 0x0A { return String(decoding: bytes, as: UTF8.self) }
            bytes.append(byte)
        }
        return nil
    }

    /// The exit status; -1 if a signal ended it. Reads what is left of the output.
    func wait() -> Int32 {
        while line() != nil {}
        var status: Int32 = 0
        guard unsafe waitpid(process, &status, 0) == process else { return -1 }
        return status & 0x7F == 0 ? (status >> 8) & 0xFF : -1
    }

    /// Not by SIGTERM: the child inherited the signals that the pool's threads block.
    func terminate() {
        kill(process, SIGKILL)
        _ = wait()
    }
}

/// An authority of its own and certificates of it.
struct CertificateAuthority {
    let folder = TemporaryFolder()
    let certificate: String
    private let key: String

    /// nil if the command failed.
    init?() {
        certificate = folder.file("ca.pem")
        key = folder.file("ca.key")
        let isMade = OpenSSL.run(
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                "-keyout", key, "-out", certificate, "-days", "2", "-subj", "/CN=Authority",
            ])
        guard isMade else { return nil }
    }

    /// A server's key and certificate, in one file; nil if the command failed.
    /// - Parameter days: 0 for one that has expired, as its end is its beginning.
    func issue(for name: String, days: Int = 1) -> String? {
        let (key, request) = (folder.file("\(name).key"), folder.file("\(name).csr"))
        let issued = folder.file("\(name)\(days).pem")
        let extensions = folder.write("\(name).ext", "subjectAltName=DNS:\(name)\n")
        let isMade =
            OpenSSL.run(
                [
                    "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                    "-keyout", key, "-out", request, "-subj", "/CN=\(name)",
                ])
            && OpenSSL.run(
                [
                    "x509", "-req", "-in", request, "-CA", certificate, "-CAkey", self.key,
                    "-set_serial", "\(days + 1)", "-days", "\(days)", "-extfile",
                    extensions, "-out", issued,
                ])
        return isMade ? issued : nil
    }

    /// A TLS server on a free loopback port that answers every request with a page about its
    /// connection; nil if it did not start.
    func serve(_ issued: String, name: String, options: [String] = []) -> TLSServer? {
        let arguments = [
            "openssl", "s_server", "-accept", "127.0.0.1:0", "-cert", issued, "-key",
            folder.file("\(name).key"), "-www",
        ]
        guard let child = Child(arguments + options) else { return nil }
        while let line = child.line() {
            guard line.hasPrefix("ACCEPT"), let colon = line.lastIndex(of: ":"),
                let port = UInt16(line[line.index(after: colon)...])
            else { continue }
            return TLSServer(child: child, port: port)
        }
        return nil
    }
}

/// `openssl s_server`, until stopped.
struct TLSServer {
    let child: Child
    let port: UInt16

    func url(_ host: String = "localhost") throws -> FetchURL {
        try FetchURL("https://\(host):\(port)/")
    }

    func stop() { child.terminate() }
}
