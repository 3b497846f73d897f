import Synchronization
import TestSupport

@testable import WakeHTTP

/// Streamed responses that a handler began, for the test to continue.
final class StreamedResponses: Sendable {
    private let responses = Mutex<[StreamedResponse]>([])
    /// How many were lost.
    let lost = Observed(0)

    static let head = Response(200, fields: [("Content-Type", "application/jsonl")])

    /// Streams a response to requests for `/chunks`; others get an echo.
    func handler(capacity: Int = 65_536) -> RequestHandler {
        { request, responder in
            guard request.isPath("/chunks") else { return Handlers.echo(request, responder) }
            let answer = responder.stream(Self.head, capacity: capacity) { [lost = self.lost] in
                lost.update { $0 += 1 }
            }
            self.responses.withLock { $0.append(answer) }
        }
    }

    var count: Int { responses.withLock { $0.count } }

    subscript(index: Int) -> StreamedResponse { responses.withLock { $0[index] } }
}
