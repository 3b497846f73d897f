import Dispatch
import Glibc
import Synchronization
package import WakeSystem

/// A program run without a shell, with bytes on its standard input and a time limit.
package struct Subprocess: Sendable {
    /// The destination of its standard output.
    package enum Output: Sendable {
        case inherited
        /// For callers whose own standard output is read by other programs.
        case standardError
        /// Standard output and standard error are discarded.
        case nowhere
    }

    /// The end of a run.
    package enum End: Sendable, Equatable {
        /// The number of the error (errno(3)).
        case notStarted(Int32)
        case exited(Int32)
        case killed(signal: Int32)
        /// Killed with all it started, when its time was over or the task was cancelled.
        case cutShort

        package var isSuccess: Bool { self == .exited(0) }

        /// What a person reads after "failed:".
        package var phrase: String {
            switch self {
            case .notStarted(let number): "it cannot be executed: \(SystemError(number).reason)"
            case .exited(let status): "it ended with status \(status)"
            case .killed(let signal): "it was killed by signal \(signal)"
            case .cutShort: "it did not end in time"
            }
        }
    }

    private let words: [String]
    private let variables: [String]
    private let input: [UInt8]
    private let output: Output

    /// - Parameters:
    ///   - words: the program (found along PATH) and its arguments.
    ///   - variables: `NAME=value`, added to the environment in place of those of the same names.
    ///   - input: at most what a socket buffers (over 64 KiB, unix(7)); the rest is cut off.
    package init(
        _ words: [String], adding variables: [String], input: [UInt8], output: Output = .inherited
    ) {
        self.output = output
        self.words = words
        self.variables = variables
        self.input = input
    }

    /// Why this user cannot execute a program, by its path or along PATH; nil when nothing is seen.
    package static func obstacle(to word: String) -> SystemError? {
        // As posix_spawnp(3) does.
        let folders = (Environment.value("PATH") ?? "/bin:/usr/bin").split(
            separator: ":", omittingEmptySubsequences: false)
        let paths =
            word.contains("/") ? [word] : folders.map { $0.isEmpty ? word : "\($0)/\(word)" }
        var number = ENOENT
        for path in paths {
            var status = stat()
            guard unsafe stat(path, &status) == 0 else {
                if errno != ENOENT { number = errno }
                continue
            }
            if status.st_mode & S_IFMT != S_IFREG {
                number = EACCES
            } else if unsafe access(path, X_OK) == 0 {
                return nil
            } else {
                number = errno
            }
        }
        return SystemError(number)
    }

    /// Runs it to its end, at most for `time`, in which suspensions of the machine do not count.
    package func run(for time: Duration) async -> End {
        let child: Child
        switch spawn() {
        case .success(let started): child = started
        case .failure(let error): return .notStarted(error.number)
        }
        return await withTaskGroup(of: End?.self) { group in
            group.addTask { await child.ended() }
            group.addTask {
                await SystemClock.sleep(for: time, pauses: true)
                child.kill()
                return nil
            }
            for await end in group {
                guard let end else { continue }
                group.cancelAll()
                return end
            }
            return .cutShort
        }
    }

    private func spawn() -> Result<Child, SystemError> {
        // A socket and not a pipe: both ends close on exec from the start (socketpair(2)).
        var ends: [Int32] = [-1, -1]
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        guard unsafe socketpair(AF_UNIX, kind, 0, &ends) == 0 else {
            return .failure(SystemError(errno))
        }
        defer { for end in ends { close(end) } }
        // Before the child exists: the other end is still open.
        let flags = Int32(MSG_DONTWAIT | MSG_NOSIGNAL)
        unsafe input.withUnsafeBytes { _ = unsafe send(ends[1], $0.baseAddress, $0.count, flags) }
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO)
        switch output {
        case .inherited: break
        case .standardError:
            unsafe posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO)
        case .nowhere:
            for descriptor in [STDOUT_FILENO, STDERR_FILENO] {
                unsafe posix_spawn_file_actions_addopen(
                    &actions, descriptor, "/dev/null", O_WRONLY, 0)
            }
        }
        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        // What this program ignores, the child must not; a group of its own can be killed whole.
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        for signal in [SIGPIPE, SIGTERM, SIGINT, SIGXFSZ] { unsafe sigaddset(&signals, signal) }
        unsafe posix_spawnattr_setsigdefault(&attributes, &signals)
        unsafe posix_spawnattr_setpgroup(&attributes, 0)
        // Nor what this thread blocks, which on Dispatch's is nearly everything: no time limit
        // and no SIGTERM would reach the child.
        var none = sigset_t()
        unsafe sigemptyset(&none)
        unsafe posix_spawnattr_setsigmask(&attributes, &none)
        let use = Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP)
        unsafe posix_spawnattr_setflags(&attributes, use)
        return unsafe start(&actions, &attributes)
    }

    private func start(
        _ actions: inout posix_spawn_file_actions_t, _ attributes: inout posix_spawnattr_t
    ) -> Result<Child, SystemError> {
        var environment: [String] = variables
        // Of two with one name, shells and getenv(3) use different ones.
        let names =
            ServiceManager.variables
            + variables.map { variable in String(variable.prefix { $0 != "=" }) }
        var entry = unsafe environ
        while let text = unsafe entry.pointee {
            let variable = unsafe String(cString: text)
            unsafe entry += 1
            let isOurs = names.contains { variable.hasPrefix($0 + "=") }
            if !isOurs { environment.append(variable) }
        }
        var arguments = unsafe words.map { unsafe strdup($0) } + [nil]
        var values = unsafe environment.map { unsafe strdup($0) } + [nil]
        defer {
            unsafe arguments.forEach { unsafe free($0) }
            unsafe values.forEach { unsafe free($0) }
        }
        var process: pid_t = 0
        let status = unsafe posix_spawnp(
            &process, words[0], &actions, &attributes, &arguments, &values)
        return status == 0 ? .success(Child(process)) : .failure(SystemError(status))
    }
}

/// A running child, reaped once.
private final class Child: Sendable {
    private let process: pid_t
    private struct State {
        /// It may be signalled: after it is reaped its number may belong to another process.
        var isThere = true
        var isCutShort = false
    }

    private let state = Mutex(State())

    init(_ process: pid_t) { self.process = process }

    /// Waits on a thread of its own, never on the cooperative pool.
    func ended() async -> Subprocess.End {
        await withCheckedContinuation { continuation in
            DispatchQueue(label: "subprocess").async {
                continuation.resume(returning: self.reap())
            }
        }
    }

    private func reap() -> Subprocess.End {
        var information = unsafe siginfo_t()
        // waitid(2), WNOWAIT: it stays a zombie, so its number stays its own.
        while unsafe waitid(P_PID, id_t(process), &information, WEXITED | WNOWAIT) != 0 {
            guard errno == EINTR else { return .cutShort }
        }
        return state.withLock { state in
            state.isThere = false
            var status: Int32 = 0
            guard unsafe waitpid(process, &status, 0) == process else { return .cutShort }
            // wait(2): the low seven bits are the signal, the next byte the exit status.
            let signal = status & 0x7F
            // One that ends by itself in the moment of its kill has ended by itself.
            if signal == 0 { return .exited(status >> 8 & 0xFF) }
            return state.isCutShort ? .cutShort : .killed(signal: signal)
        }
    }

    func kill() {
        state.withLock { state in
            guard state.isThere else { return }
            state.isCutShort = true
            _ = Glibc.kill(-process, SIGKILL)
        }
    }
}
