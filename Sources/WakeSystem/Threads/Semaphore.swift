private import CLinux
private import Glibc

/// A POSIX semaphore (sem_overview(7)): blocks a thread until another one posts.
package final class Semaphore: Sendable {
    /// The address as a number: pointers are not `Sendable`, the semaphore itself is.
    private let address: UInt

    package init() {
        let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)
        unsafe semaphore.initialize(to: sem_t())
        unsafe sem_init(semaphore, 0, 0)
        address = UInt(bitPattern: semaphore)
    }

    deinit {
        unsafe sem_destroy(semaphore)
        unsafe semaphore.deallocate()
    }

    package func post() { unsafe sem_post(semaphore) }

    /// Returns once for every post. Blocks: never on a thread of the cooperative pool.
    package func wait() {
        // Only a signal ends the wait early (sem_wait(3)).
        while unsafe sem_wait(semaphore) != 0 {}
    }

    /// Returns once for every post, and when the monotonic clock shows that number of nanoseconds.
    package func wait(until nanoseconds: UInt64) {
        unsafe linux_semaphore_wait(semaphore, nanoseconds)
    }

    private var semaphore: UnsafeMutablePointer<sem_t> {
        guard let semaphore = unsafe UnsafeMutablePointer<sem_t>(bitPattern: address)
        else { preconditionFailure("memory is never at address 0") }
        return unsafe semaphore
    }
}
