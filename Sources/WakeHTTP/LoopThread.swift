import Glibc

/// Carries a closure into a new thread.
private final class ThreadBody: Sendable {
    let run: @Sendable () -> Void

    init(_ run: @escaping @Sendable () -> Void) {
        self.run = run
    }
}

/// Runs `body` on a detached thread of its own with every signal blocked: signals are for the main
/// thread, and sendfile(2) to a closed connection must not raise SIGPIPE.
func startThread(_ body: @escaping @Sendable () -> Void) {
    var attributes = pthread_attr_t()
    unsafe pthread_attr_init(&attributes)
    unsafe pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
    var all = sigset_t()
    var before = sigset_t()
    unsafe sigfillset(&all)
    // The new thread inherits the mask.
    unsafe pthread_sigmask(SIG_SETMASK, &all, &before)
    var thread = pthread_t()
    let argument = unsafe Unmanaged.passRetained(ThreadBody(body)).toOpaque()
    let result = unsafe pthread_create(
        &thread, &attributes,
        { raw in
            guard let raw = unsafe raw else { return nil }
            unsafe Unmanaged<ThreadBody>.fromOpaque(raw).takeRetainedValue().run()
            return nil
        }, argument)
    unsafe pthread_sigmask(SIG_SETMASK, &before, nil)
    unsafe pthread_attr_destroy(&attributes)
    precondition(result == 0, "the system gives no thread")
}
