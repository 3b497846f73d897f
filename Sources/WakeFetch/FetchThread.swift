import Glibc

/// Starts a thread of its own for work that blocks: the cooperative pool must not.
enum FetchThread {
    private final class Work {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    /// False if the system has no thread to give. All signals are blocked in the thread: they are
    /// the program's to handle, and with SIGPIPE blocked a write to a closed connection is an error
    /// code (older libcurl leaves that to its user, CURLOPT_NOSIGNAL(3)).
    static func start(_ run: @escaping @Sendable () -> Void) -> Bool {
        let work = unsafe Unmanaged.passRetained(Work(run))
        var all = sigset_t()
        var previous = sigset_t()
        var thread = pthread_t()
        unsafe sigfillset(&all)
        unsafe pthread_sigmask(SIG_SETMASK, &all, &previous)
        let status = unsafe pthread_create(
            &thread, nil,
            { context in
                guard let context = unsafe context else { return nil }
                let work = unsafe Unmanaged<Work>.fromOpaque(context).takeRetainedValue()
                work.run()
                return nil
            }, work.toOpaque())
        unsafe pthread_sigmask(SIG_SETMASK, &previous, nil)
        guard status == 0 else {
            unsafe work.release()
            return false
        }
        pthread_detach(thread)
        return true
    }
}
