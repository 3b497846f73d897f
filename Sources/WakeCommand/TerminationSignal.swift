private import Dispatch
private import Glibc

/// SIGTERM and SIGINT as cancellation: the one way a daemon ends.
package enum TerminationSignal {
    /// Runs `body` in a task that the first SIGTERM or SIGINT cancels; returns when it has ended.
    package static func cancels(_ body: @escaping @Sendable () async -> Void) async {
        // The default action must be off before the source can see the signal (dispatch manual).
        signal(SIGTERM, SIG_IGN)
        signal(SIGINT, SIG_IGN)
        signal(SIGPIPE, SIG_IGN)
        let task = Task { await body() }
        let sources = [SIGTERM, SIGINT].map { number in
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler { task.cancel() }
            source.activate()
            return source
        }
        await task.value
        for source in sources { source.cancel() }
    }
}
