import Synchronization

@testable import WakeHTTP

/// Exchanges a handler has put aside for the test to answer.
final class Waiting: Sendable {
    private let exchanges = Mutex<[Exchange]>([])

    func hold(_ exchange: Exchange) {
        exchanges.withLock { $0.append(exchange) }
    }

    var count: Int { exchanges.withLock { $0.count } }

    /// Answers the oldest; whether there was one.
    @discardableResult
    func answer(_ response: Response) -> Bool {
        guard let exchange = take() else { return false }
        exchange.respond(response)
        return true
    }

    func take() -> Exchange? {
        exchanges.withLock { $0.isEmpty ? nil : $0.removeFirst() }
    }
}
