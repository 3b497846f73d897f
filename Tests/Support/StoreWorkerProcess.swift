private import Dispatch
private import Glibc
private import Synchronization

/// A `store-worker` process, its standard input and its lines.
package final class StoreWorkerProcess {
    private let process: pid_t
    private let input: Int32
    private let output: Int32
    private var buffer: [UInt8] = []
    private var isReaped = false

    /// Starts the program built beside the running tests.
    ///
    /// - Parameter setting: slipped into the store's connection behind its back: see `wake_slip`.
    package init(
        _ mode: String, data: String, keys: String, _ numbers: [Int] = [], trace: String? = nil,
        slipping setting: String? = nil
    ) {
        let words =
            [Self.program, mode, data, keys] + numbers.map { "\($0)" }
            + (setting.map { ["slip:" + $0] } ?? []) + (trace.map { [$0] } ?? [])
        // One at a time: a pipe between its making and its mark would leak into another child.
        (process, input, output) = Self.starting.withLock { _ in Self.start(words) }
    }

    private static let starting = Mutex(())

    private static func start(_ words: [String]) -> (pid_t, Int32, Int32) {
        let (childInput, input) = pipe()
        let (output, childOutput) = pipe()
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        unsafe posix_spawn_file_actions_adddup2(&actions, childInput, 0)
        unsafe posix_spawn_file_actions_adddup2(&actions, childOutput, 1)
        var arguments = unsafe words.map { unsafe strdup($0) } + [nil]
        var environment: [UnsafeMutablePointer<CChar>?] = unsafe [nil]
        var process: pid_t = 0
        let number = unsafe posix_spawn(
            &process, words[0], &actions, nil, &arguments, &environment)
        precondition(number == 0, "store-worker did not start: \(number)")
        unsafe arguments.forEach { unsafe free($0) }
        unsafe posix_spawn_file_actions_destroy(&actions)
        close(childInput)
        close(childOutput)
        return (process, input, output)
    }

    /// The reading and the writing end, both closed in children.
    private static func pipe() -> (Int32, Int32) {
        var ends: [Int32] = [0, 0]
        unsafe Glibc.pipe(&ends)
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (ends[0], ends[1])
    }

    deinit {
        if !isReaped { _ = kill() }
        close(input)
        close(output)
    }

    /// The next line, without its end; nil when the process has closed its output.
    package func line() -> String? {
        while true {
            if let end = buffer.firstIndex(of: UInt8(ascii: "\n")) {
                let line = String(decoding: buffer[..<end], as: UTF8.self)
                buffer.removeSubrange(...end)
                return line
            }
            var chunk = [UInt8](repeating: 0, count: 65_536)
            let count = unsafe read(output, &chunk, chunk.count)
            guard count > 0 else { return nil }
            buffer += chunk[..<count]
        }
    }

    /// Everything until the process closes its output.
    package func lines() -> [String] {
        var lines: [String] = []
        while let line = line() { lines.append(line) }
        return lines
    }

    /// Reads all lines to come without a look, so that the process never waits for a reader.
    package func discardLines() {
        let copy = dup(output)
        DispatchQueue.global().async {
            var chunk = [UInt8](repeating: 0, count: 65_536)
            while unsafe read(copy, &chunk, chunk.count) > 0 {}
            close(copy)
        }
    }

    /// SIGKILL; lines already written can still be read.
    package func kill() -> Int32 {
        Glibc.kill(process, SIGKILL)
        return wait()
    }

    /// Ends its standard input and waits for it.
    package func finish() -> Int32 {
        // The descriptor stays ours until `deinit`; it now leads nowhere.
        let nowhere = unsafe open("/dev/null", O_RDONLY | O_CLOEXEC)
        dup2(nowhere, input)
        close(nowhere)
        return wait()
    }

    /// - Returns: the exit status, or 128 and the signal's number.
    private func wait() -> Int32 {
        guard !isReaped else { return -1 }
        isReaped = true
        var status: Int32 = 0
        while unsafe waitpid(process, &status, 0) < 0, errno == EINTR {}
        return status & 0x7F == 0 ? status >> 8 & 0xFF : 128 + status & 0x7F
    }

    private static let program: String = {
        var path = [CChar](repeating: 0, count: 4096)
        let count = unsafe readlink("/proc/self/exe", &path, path.count - 1)
        let own = path[..<max(0, count)].map { UInt8(bitPattern: $0) }
        let directory = own[..<(own.lastIndex(of: UInt8(ascii: "/")) ?? 0)]
        return String(decoding: directory, as: UTF8.self) + "/store-worker"
    }()
}
