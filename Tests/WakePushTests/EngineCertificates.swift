import Glibc
import TestSupport

/// Certificates by the `openssl` command, each its own authority.
struct EngineCertificates {
    let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    static let isInstalled = run(["version"])

    /// Key and certificate files for `localhost` with a lifetime of `days`; below 0: expired.
    func issue(_ name: String, days: Int = 1) throws -> EngineServer.TLS {
        let key = "\(folder.path)/\(name).key"
        let request = "\(folder.path)/\(name).csr"
        let chain = "\(folder.path)/\(name).pem"
        let isMade =
            Self.run([
                "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                "-keyout", key, "-out", request, "-subj", "/CN=localhost",
            ])
            && Self.run([
                "x509", "-req", "-in", request, "-signkey", key, "-days", "\(days)", "-out",
                chain,
            ])
        guard isMade else { throw TestFailure("openssl made no certificate") }
        return EngineServer.TLS(chain: chain, key: key, folder: folder)
    }

    private static func run(_ arguments: [String]) -> Bool {
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        for descriptor in Int32(0)...2 {
            unsafe posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_RDWR, 0)
        }
        var process = pid_t()
        var list: [UnsafeMutablePointer<CChar>?] = unsafe (["openssl"] + arguments).map {
            unsafe strdup($0)
        }
        unsafe list.append(nil)
        defer { unsafe list.forEach { unsafe free($0) } }
        guard unsafe posix_spawnp(&process, "openssl", &actions, nil, list, environ) == 0 else {
            return false
        }
        var status: Int32 = 0
        while unsafe waitpid(process, &status, 0) < 0, errno == EINTR {}
        return status == 0
    }
}
