import CLinux
import Glibc

/// A child whose output is read by lines, and whose CPU time is known once it has ended.
final class MeasuredProcess {
    /// What it used until its end, and how it ended.
    struct End {
        /// User and system.
        let processorSeconds: Double
        let isSuccess: Bool
        /// The most that was resident, bytes. nil where it cannot be known: what was resident in
        /// this process when the child was started counts for the child, because `exec` keeps the
        /// larger of both (`setmax_mm_hiwater_rss` in the kernel's fs/exec.c).
        let peak: Int?
    }

    let identifier: pid_t
    private let output: Int32
    /// Closed by our end, however it comes: children that watch it end with us.
    private let leash: Int32
    private var unread: [UInt8] = []
    private var hasEnded = false
    private let inheritedPeak = ProcessStatus()?.peak ?? 0

    /// - Parameter words: a path, or a name that PATH knows, and arguments.
    /// - Returns: nil when it cannot be started.
    init?(_ words: [String]) {
        var (said, held): ([Int32], [Int32]) = ([-1, -1], [-1, -1])
        guard unsafe pipe(&said) == 0, unsafe pipe(&held) == 0 else { return nil }
        for end in said + held { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_adddup2(&actions, held[0], 0)
        unsafe posix_spawn_file_actions_adddup2(&actions, said[1], 1)
        // Threads of the concurrency runtime block signals, and a child would inherit that.
        var attributes = posix_spawnattr_t()
        var none = sigset_t()
        unsafe sigemptyset(&none)
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        unsafe posix_spawnattr_setsigmask(&attributes, &none)
        unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        var arguments = unsafe words.map { unsafe strdup($0) } + [nil]
        defer { unsafe arguments.forEach { unsafe free($0) } }
        var child: pid_t = 0
        let number = unsafe posix_spawnp(
            &child, words[0], &actions, &attributes, &arguments, environ)
        close(said[1])
        close(held[0])
        (identifier, output, leash) = (child, said[0], held[1])
        guard number == 0 else {
            hasEnded = true
            return nil
        }
    }

    deinit {
        if !hasEnded {
            kill(identifier, SIGKILL)
            _ = end()
        }
        close(output)
        close(leash)
    }

    /// What it says next; nil at its end.
    func line() -> String? {
        while true {
            if let end = unread.firstIndex(of: UInt8(ascii: "\n")) {
                defer { unread.removeSubrange(...end) }
                return String(decoding: unread[..<end], as: UTF8.self)
            }
            var chunk = [UInt8](repeating: 0, count: 4096)
            let count = unsafe read(output, &chunk, chunk.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return nil }
            unread += chunk.prefix(count)
        }
    }

    /// The first line that begins with `start`.
    func line(beginning start: String) -> String? {
        while let line = line() {
            if line.hasPrefix(start) { return line }
        }
        return nil
    }

    func terminate() { kill(identifier, SIGTERM) }

    /// Waits for its end.
    func end() -> End {
        var status: Int32 = 0
        var used = rusage()
        while unsafe wait4(identifier, &status, 0, &used) < 0, errno == EINTR {}
        hasEnded = true
        let seconds = used.ru_utime.tv_sec + used.ru_stime.tv_sec
        let microseconds = used.ru_utime.tv_usec + used.ru_stime.tv_usec
        let peak = used.ru_maxrss * 1024
        return End(
            processorSeconds: Double(seconds) + Double(microseconds) / 1e6,
            isSuccess: status == 0, peak: peak > inheritedPeak ? peak : nil)
    }

    /// Runs a program to its end; false when it fails or is not there.
    static func run(_ words: [String]) -> Bool {
        guard let process = MeasuredProcess(words) else { return false }
        while process.line() != nil {}
        return process.end().isSuccess
    }
}
