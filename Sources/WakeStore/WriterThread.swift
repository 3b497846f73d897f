private import Glibc

/// One POSIX thread: everything that blocks on the disk happens here.
final class WriterThread: Sendable {
    private let handle: pthread_t

    /// - Throws: `.thread` when the system has none left.
    init(_ body: @escaping @Sendable () -> Void) throws(StoreOpenError) {
        var handle = pthread_t()
        let context = unsafe Unmanaged.passRetained(Body(body))
        // Signals are for the daemon's own threads: a thread inherits the mask of its maker.
        var all = sigset_t()
        var before = sigset_t()
        unsafe sigfillset(&all)
        unsafe pthread_sigmask(SIG_SETMASK, &all, &before)
        let number = unsafe pthread_create(
            &handle, nil,
            { context in
                guard let context = unsafe context else { return nil }
                unsafe Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run()
                return nil
            }, context.toOpaque())
        unsafe pthread_sigmask(SIG_SETMASK, &before, nil)
        guard number == 0 else {
            unsafe context.release()
            throw .thread(number)
        }
        self.handle = handle
    }

    /// Waits until the body has returned; exactly one of `join` and `detach` is called.
    func join() {
        pthread_join(handle, nil)
    }

    func detach() {
        pthread_detach(handle)
    }

    private final class Body: Sendable {
        let run: @Sendable () -> Void

        init(_ run: @escaping @Sendable () -> Void) {
            self.run = run
        }
    }
}
