import Synchronization
import TestSupport

@testable import WakeHTTP

/// Answers in pieces that a handler began, for the test to go on with.
final class StreamedAnswers: Sendable {
    private let answers = Mutex<[StreamedAnswer]>([])
    /// How many were lost.
    let lost = Observed(0)

    static let head = Response(200, fields: [("Content-Type", "application/jsonl")])

    /// Begins an answer to whoever asks for `/pieces`; others get an echo.
    func handler(waiting: Int = 65_536) -> RequestHandler {
        { request, exchange in
            guard request.isPath("/pieces") else { return Handlers.echo(request, exchange) }
            let answer = exchange.stream(Self.head, waiting: waiting) { [lost = self.lost] in
                lost.update { $0 += 1 }
            }
            self.answers.withLock { $0.append(answer) }
        }
    }

    var count: Int { answers.withLock { $0.count } }

    subscript(index: Int) -> StreamedAnswer { answers.withLock { $0[index] } }
}
