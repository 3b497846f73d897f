import WakeSystem

/// The end of one push. Every push that was taken has exactly one.
package enum PushOutcome: Equatable, Sendable {
    /// The service answered; no body with 2xx. `retryAfter`: seconds, 0 when it did not say.
    case answered(status: UInt16, retryAfter: UInt32, body: PushBody)
    /// No answer will come. Safe: the service has not seen the push; otherwise it may have.
    case retry(isSafe: Bool)
    /// Sending again will not help before an operator, or much time, has.
    case failed(PushFailure)
}

/// The range of an answer's body in `PushOutcomes.bodies`.
package struct PushBody: Equatable, Sendable {
    package var start: UInt32
    package var count: UInt32

    package static let empty = PushBody(start: 0, count: 0)
}

/// The reason why nothing can be sent to a service.
package enum PushFailure: Error, Equatable, Sendable {
    /// `unreachable`: no connection for as long as the configuration allows.
    case unreachable, unknownHost, noHTTP2
    /// The certificate does not verify; the number is OpenSSL's (X509_V_ERR_*, verify(1)).
    case certificate(Int)
    /// TLS, for another reason than the certificate.
    case handshake
    /// The engine was cancelled before the push was sent.
    case cancelled
}

/// One push and its outcome.
package struct PushResult: Equatable, Sendable {
    /// As given with the push.
    package var reference: UInt64
    package var outcome: PushOutcome
    /// Serial number of the connection, new for every one an engine opens; 0: it was on none.
    package var connection: UInt32 = 0

    var isAnswered: Bool { if case .answered = outcome { true } else { false } }
}

/// Many outcomes, their bodies in one arena: whatever the far end wrote, never shown.
package struct PushOutcomes: Sendable, Redacted {
    package var results: [PushResult] = []
    package var bodies: [UInt8] = []
    /// Serial numbers of ended connections, whose last results are here or came before.
    package var ended: [UInt32] = []

    package init() {}

    package var isEmpty: Bool { results.isEmpty && ended.isEmpty }

    /// The first 4 KiB of an answer's body.
    package func bytes(of body: PushBody) -> ArraySlice<UInt8> {
        bodies[Int(body.start)..<Int(body.start) + Int(body.count)]
    }

    mutating func append(_ reference: UInt64, _ outcome: PushOutcome, connection: UInt32 = 0) {
        results.append(PushResult(reference: reference, outcome: outcome, connection: connection))
    }

    mutating func append(body: [UInt8]) -> PushBody {
        defer { bodies.append(contentsOf: body) }
        return PushBody(start: UInt32(bodies.count), count: UInt32(body.count))
    }

    /// Moves results and bodies to the end of `all`.
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
