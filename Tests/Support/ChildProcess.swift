private import Glibc
private import Synchronization

/// A child by posix_spawn(3) with one pipe for both of its outputs. It dies with its reader: a test
/// that fails leaves nothing running.
struct ChildProcess: Sendable {
    let identifier: Int32
    private let output: Int32

    /// Keeps a second child from inheriting a pipe before it is marked close-on-exec: its end
    /// would then never be seen.
    private static let spawning = Mutex(())

    /// - Parameter hasCleanSignals: false hands down what this thread blocks: everything, on
    ///   Dispatch's. Our own programs must bear that, others need not.
    init(
        path: String, arguments: [String], environment: [String], input: [UInt8],
        hasCleanSignals: Bool
    ) throws {
        let stdin = try Self.file(with: input)
        defer { close(stdin) }
        (identifier, output) = try Self.spawning.withLock { _ in
            var ends: [Int32] = [-1, -1]
            guard unsafe pipe(&ends) == 0 else { throw TestFailure("pipe: errno \(errno)") }
            for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
            defer { close(ends[1]) }
            var actions = unsafe posix_spawn_file_actions_t()
            unsafe posix_spawn_file_actions_init(&actions)
            defer { unsafe posix_spawn_file_actions_destroy(&actions) }
            unsafe posix_spawn_file_actions_adddup2(&actions, stdin, 0)
            unsafe posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
            unsafe posix_spawn_file_actions_adddup2(&actions, ends[1], 2)
            var attributes = posix_spawnattr_t()
            unsafe posix_spawnattr_init(&attributes)
            defer { unsafe posix_spawnattr_destroy(&attributes) }
            var none = sigset_t()
            unsafe sigemptyset(&none)
            unsafe posix_spawnattr_setsigmask(&attributes, &none)
            if hasCleanSignals {
                unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
            }
            var child: pid_t = 0
            let code = unsafe Self.withStrings([path] + arguments) { words in
                unsafe Self.withStrings(environment) { variables in
                    unsafe posix_spawn(
                        &child, path, &actions, &attributes, words, variables)
                }
            }
            guard code == 0 else {
                close(ends[0])
                throw TestFailure("\(path): errno \(code)")
            }
            return (child, ends[0])
        }
    }

    /// What it says next; nil at its end.
    func read() -> [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = unsafe buffer.withUnsafeMutableBytes {
                unsafe Glibc.read(output, $0.baseAddress, $0.count)
            }
            if count < 0, errno == EINTR { continue }
            return count > 0 ? Array(buffer.prefix(count)) : nil
        }
    }

    /// Waits for its end: the exit status, or minus the signal that killed it.
    func wait() -> Int32 {
        close(output)
        var status: Int32 = 0
        while unsafe waitpid(identifier, &status, 0) < 0, errno == EINTR {}
        // wait(2): the low seven bits are the signal, the next byte the exit status.
        let signal = status & 0x7F
        return signal == 0 ? status >> 8 & 0xFF : -signal
    }

    /// An open, unlinked file that holds `bytes`: unlike a pipe it never blocks a writer.
    private static func file(with bytes: [UInt8]) throws -> Int32 {
        guard !bytes.isEmpty else { return unsafe open("/dev/null", O_RDONLY | O_CLOEXEC) }
        guard let file = unsafe tmpfile() else { throw TestFailure("tmpfile: errno \(errno)") }
        defer { unsafe fclose(file) }
        _ = unsafe fwrite(bytes, 1, bytes.count, file)
        unsafe fflush(file)
        unsafe rewind(file)
        let descriptor = unsafe dup(fileno(file))
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        return descriptor
    }

    /// Lends an array of C strings that ends with a null pointer.
    private static func withStrings<Result>(
        _ strings: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> Result
    ) -> Result {
        let copies = unsafe strings.map { unsafe strdup($0) }
        defer { unsafe copies.forEach { unsafe free($0) } }
        return unsafe body(copies + [nil])
    }
}
