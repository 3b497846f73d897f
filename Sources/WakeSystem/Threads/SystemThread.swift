private import Glibc

/// Detached POSIX threads for loops that block: none of them may run on the cooperative pool.
package enum SystemThread {
    /// Runs `body` on a new thread with every signal blocked: signals are for the main thread, and
    /// a write to a closed socket must not raise SIGPIPE (pthread_sigmask(3)).
    /// - Throws: the error number when the kernel has no thread left (pthread_create(3)).
    package static func start(_ body: @escaping @Sendable () -> Void) throws(SystemError) {
        var all = sigset_t()
        var before = sigset_t()
        unsafe sigfillset(&all)
        // The new thread inherits the mask.
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
            throw SystemError(number)
        }
        pthread_detach(handle)
    }

    /// A number that tells the calling thread from every other living one.
    package static var current: UInt { UInt(pthread_self()) }

    private final class Body: Sendable {
        let run: @Sendable () -> Void

        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }
}
