import Synchronization

@testable import WakeHTTP

/// Responders that a handler has kept for the test to answer.
final class HeldResponders: Sendable {
    private let responders = Mutex<[Responder]>([])

    func hold(_ responder: Responder) {
        responders.withLock { $0.append(responder) }
    }

    var count: Int { responders.withLock { $0.count } }

    /// Answers the oldest; whether there was one.
    @discardableResult
    func answer(_ response: Response) -> Bool {
        guard let responder = take() else { return false }
        responder.respond(response)
        return true
    }

    func take() -> Responder? {
        responders.withLock { $0.isEmpty ? nil : $0.removeFirst() }
    }
}
