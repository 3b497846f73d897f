import WakeSystem

/// The end of one push. Every accepted push has exactly one.
package enum PushOutcome: Equatable, Sendable {
    /// The service answered; 2xx without a body. `retryAfter`: seconds, 0 when not given.
    case answered(status: UInt16, retryAfter: UInt32, body: PushBody)
    /// No answer will come.
    case retry(AttemptFailure)
    /// Sending again soon will not help.
    case failed(PushFailure)
}

/// The range of an answer's body, its first 4 KiB, in `PushOutcomes.bodies`.
package struct PushBody: Equatable, Sendable {
    package var start: UInt32
    package var count: UInt32

    package static let empty = PushBody(start: 0, count: 0)
}

/// The reason why nothing can be sent to a service.
package enum PushFailure: Error, Equatable, Sendable {
    /// `unreachable`: no connection for as long as the configuration allows; `cancelled`: with the
    /// engine, before the push was sent.
    case unreachable, unknownHost, cancelled
    /// `unreachable`, and the peer ended the last connection with GOAWAY.
    case closed(GoAwayReason)
    case connection(ConnectionFault)
}

package struct PushResult: Equatable, Sendable {
    package var reference: UInt64
    package var outcome: PushOutcome

    var isAnswered: Bool { if case .answered = outcome { true } else { false } }

    /// Whether the service took the push up: it answered, and not that it has too much to do
    /// (RFC 6585 §4, RFC 9110 §15.6).
    var isServed: Bool {
        guard case .answered(let status, _, _) = outcome else { return false }
        return status != 429 && status < 500
    }
}

/// Many outcomes, their bodies in one arena. Bodies are never shown.
package struct PushOutcomes: Sendable, Redacted {
    package var results: [PushResult] = []
    package var bodies: [UInt8] = []

    package init() {}

    package var isEmpty: Bool { results.isEmpty }

    package func bytes(of body: PushBody) -> ArraySlice<UInt8> {
        bodies[Int(body.start)..<Int(body.start) + Int(body.count)]
    }

    mutating func append(_ reference: UInt64, _ outcome: PushOutcome) {
        results.append(PushResult(reference: reference, outcome: outcome))
    }

    mutating func append(body: [UInt8]) -> PushBody {
        defer { bodies.append(contentsOf: body) }
        return PushBody(start: UInt32(bodies.count), count: UInt32(body.count))
    }

    mutating func move(to all: inout PushOutcomes) {
        guard !results.isEmpty else { return }
        if all.results.isEmpty, all.bodies.isEmpty {
            swap(&all.results, &results)
            swap(&all.bodies, &bodies)
            return
        }
        if bodies.isEmpty {
            all.results.append(contentsOf: results)
        } else {
            let shift = UInt32(all.bodies.count)
            for var result in results {
                if case .answered(let status, let retryAfter, var body) = result.outcome {
                    body.start += body.count > 0 ? shift : 0
                    result.outcome = .answered(status: status, retryAfter: retryAfter, body: body)
                }
                all.results.append(result)
            }
            all.bodies.append(contentsOf: bodies)
            bodies.removeAll(keepingCapacity: true)
        }
        results.removeAll(keepingCapacity: true)
    }
}
