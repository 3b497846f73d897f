private import Glibc

/// Starts POSIX threads: what polls never does so on the cooperative pool.
enum BusThread {
    /// - Throws: `.system` when the kernel has none left.
    static func start(_ body: @escaping @Sendable () -> Void) throws(BusError) {
        // Signals are for the program's own threads, and a write to a closed socket must not end
        // the process: a thread inherits the mask of its maker.
        var all = sigset_t()
        var before = sigset_t()
        unsafe sigfillset(&all)
        unsafe pthread_sigmask(SIG_SETMASK, &all, &before)
        defer { unsafe pthread_sigmask(SIG_SETMASK, &before, nil) }
        let context = unsafe Unmanaged.passRetained(Body(body))
        var handle = pthread_t()
        let number = unsafe pthread_create(
            &handle, nil,
            { context in
                guard let context = unsafe context else { return nil }
                unsafe Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run()
                return nil
            }, context.toOpaque())
        guard number == 0 else {
            unsafe context.release()
            throw .system(number)
        }
        pthread_detach(handle)
    }

    private final class Body: Sendable {
        let run: @Sendable () -> Void

        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }
}
