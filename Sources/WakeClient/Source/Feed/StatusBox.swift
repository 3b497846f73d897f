import Synchronization
import WakeFetch

/// Remembers the head of an answer whose body was refused.
final class StatusBox: Sendable {
    private let box = Mutex<FetchResponse?>(nil)

    func set(_ response: FetchResponse) {
        box.withLock { $0 = response }
    }

    var response: FetchResponse? { box.withLock { $0 } }
}
