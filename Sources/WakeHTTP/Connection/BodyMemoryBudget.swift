import Synchronization
import WakeSystem

/// The one path of a listener whose POST requests may have a larger body: at most `atOnce`, counted
/// from the first byte that is kept to the release of the last copy of the request.
package struct BodyMemoryBudget: Sendable {
    /// Compared byte for byte.
    package let path: StaticString
    /// Bound of such a body in bytes.
    package let bytes: Int
    /// Such bodies at once; beyond it 503.
    package let atOnce: Int
    /// Judges a request by its head, as one with an empty body; called on the loop's thread.
    package let screen: @Sendable (Request) -> Verdict

    package enum Verdict: Sendable {
        /// The body is not read.
        case rejected(Response)
        /// The body gets a permit; `holding` is released together with it.
        case admitted(holding: (any AnyObject & Sendable)?)
    }

    package init(
        path: StaticString, bytes: Int, atOnce: Int,
        screen: @escaping @Sendable (Request) -> Verdict = { _ in .admitted(holding: nil) }
    ) {
        self.path = path
        self.bytes = bytes
        self.atOnce = atOnce
        self.screen = screen
    }
}

/// The permits for a number of large bodies in memory.
final class BodyMemoryPermits: Sendable {
    private let free: Atomic<Int>

    init(_ count: Int) {
        free = Atomic(count)
    }

    /// Takes a permit, with which `held` is released; nil when all are taken.
    func acquire(holding held: (any AnyObject & Sendable)?) -> Permit? {
        guard free.subtract(1, ordering: .relaxed).newValue >= 0 else {
            free.add(1, ordering: .relaxed)
            return nil
        }
        return Permit(self, held)
    }

    /// Given back when its last holder releases it.
    final class Permit: Sendable {
        private let permits: BodyMemoryPermits
        private let held: (any AnyObject & Sendable)?

        fileprivate init(_ permits: BodyMemoryPermits, _ held: (any AnyObject & Sendable)?) {
            self.permits = permits
            self.held = held
        }

        deinit { permits.free.add(1, ordering: .relaxed) }
    }
}
