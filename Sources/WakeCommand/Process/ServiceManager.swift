private import CLinux
private import Dispatch
private import Glibc
private import WakeModel

/// Notifications to the service manager (sd_notify(3)); without one they do nothing.
package enum ServiceManager {
    package enum State: String {
        case ready = "READY=1"
        case stopping = "STOPPING=1"
        /// The program works; see `watchdog`.
        case alive = "WATCHDOG=1"
    }

    package static func notify(_ state: State) { notify(state.rawValue) }

    /// One line for people, visible to everyone who may query the manager.
    package static func notify(status: String) {
        precondition(!status.contains("\n"), "a line break begins another assignment")
        notify("STATUS=\(status)")
    }

    /// The interval of `alive`: half of the time after which the manager restarts the program
    /// (sd_watchdog_enabled(3)). nil when it does not watch this process.
    package static var watchdog: Duration? {
        let time = Environment.value("WATCHDOG_USEC").flatMap { Int64($0) }
        guard let time, time > 1 else { return nil }
        let process = Environment.value("WATCHDOG_PID")
        guard process == nil || process == "\(getpid())" else { return nil }
        return .microseconds(time / 2)
    }

    /// Whether standard error leads to the journal (systemd.exec(5), "$JOURNAL_STREAM").
    package static var hasJournal: Bool { hasJournal(at: STDERR_FILENO) }

    static func hasJournal(at descriptor: Int32) -> Bool {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { return false }
        return Environment.value("JOURNAL_STREAM") == "\(status.st_dev):\(status.st_ino)"
    }

    /// Variables for this program alone: child processes must not inherit them.
    package static let variables = [
        "NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "LIBDISPATCH_LOG",
    ]

    private static func notify(_ state: String) {
        guard let socket = Environment.value("NOTIFY_SOCKET") else { return }
        var name = Array(socket.utf8)
        // A leading @ stands for the abstract namespace, whose names begin with a zero byte.
        if name.first == UInt8(ascii: "@") { name[0] = 0 }
        let bytes = Array(state.utf8)
        unsafe linux_send_datagram(name, name.count, bytes, bytes.count)
    }
}

/// What a command says, as the journal gets it: lines of the form that `Policy/privacy.json`
/// declares (the event `message`), each after its priority (sd-daemon(3)).
enum JournalText {
    /// - Parameters:
    ///   - text: lines for people; `PROGRAM: ` before one of them is left out.
    ///   - isFailure: the command ends with it.
    static func lines(_ text: String, program: String, isFailure: Bool) -> String {
        let start = isFailure ? "<3>\(program) error message" : "<6>\(program) info message"
        return text.split(separator: "\n").map { line in
            let words = line.trimmingPrefix("\(program): ").split(separator: " ")
            return "\(start) \(words.map(shown).joined(separator: " "))\n"
        }
        .joined()
    }

    /// A word that looks like an address or a token is left out; of a path its last name may stay.
    private static func shown(_ word: Substring) -> String {
        if isHarmless(word) { return String(word) }
        let name = word.split(separator: "/").last ?? ""
        return name.count < word.count && isHarmless(name) ? ".../\(name)" : "[left-out]"
    }

    private static func isHarmless(_ word: Substring) -> Bool {
        let bytes = Array(word.utf8)[...]
        return !LeakSearch.holdsAddress(bytes) && !LeakSearch.holdsToken(bytes)
            && bytes.allSatisfy { $0 > 0x20 && $0 != 0x7F }
    }
}

/// The state of a process that both programs rely on, whatever their parents left them.
package enum ProgramStart {
    /// The first thing that a program does. Keys, tokens and secrets lie in its memory: no crash
    /// writes it down.
    /// - Parameter rests: it waits for days with nothing to do, and tasks are few.
    package static func begin(rests: Bool = false) {
        if rests { linux_rest_quietly() }
        linux_keep_memory_private()
        linux_begin_program()
    }
}

/// SIGHUP as a request to read the configuration again, instead of the end of the process.
package enum HangupSignal {
    /// From now on it ends nothing. Call once, as early as a supervisor may send it.
    package static func keep() {
        let result = linux_catch_hangup()
        precondition(result == 0, "no descriptor for signals")
    }

    /// Calls `body` for each signal that `keep` caught, several at once being one.
    package static func calls(_ body: @escaping @Sendable () -> Void) {
        DispatchQueue(label: "hangup").async {
            while true {
                linux_wait_for_hangup()
                body()
            }
        }
    }
}

/// SIGTERM, SIGINT and SIGHUP as cancellation of the main task.
package enum TerminationSignal {
    /// Runs `body` in a task that the first of them cancels; returns when it has ended.
    /// Call once. A second signal does nothing: ending takes a bounded time already.
    package static func cancels(_ body: @escaping @Sendable () async -> Void) async {
        keep()
        let task = Task { await body() }
        calls { _ in task.cancel() }
        await task.value
    }

    /// The first of them still ends the process, after this was said. Call once.
    package static func ends(saying text: String) {
        keep()
        calls { number in
            Console().endProgress()
            Console().error(text)
            _ = signal(number, SIG_DFL)
            raise(number)
        }
    }

    private static func keep() {
        let result = linux_catch_termination()
        precondition(result == 0, "no descriptor for signals")
    }

    private static func calls(_ body: @escaping @Sendable (Int32) -> Void) {
        // A thread of its own: Dispatch's signal sources miss signals that a parent left blocked.
        DispatchQueue(label: "termination").async { body(linux_wait_for_termination()) }
    }
}
