/// What became of one push. Every push that was taken gets exactly one.
package enum PushOutcome: Equatable, Sendable {
    /// The service answered. `body` is empty for a 2xx answer.
    /// - `retryAfter`: seconds the service asked to wait, 0 when it did not say.
    case answered(status: UInt16, retryAfter: UInt32, body: PushBody)
    /// No answer will come. Safe: the service has not seen the push; otherwise it may have, which
    /// is no harm: a push may be repeated.
    case retry(isSafe: Bool)
    /// Sending again will not help before an operator, or much time, has.
    case failed(PushFailure)
}

/// Place of an answer's body in `PushOutcomes.bodies`.
package struct PushBody: Equatable, Sendable {
    package var start: UInt32
    package var count: UInt32

    package static let empty = PushBody(start: 0, count: 0)
}

/// Why nothing can be sent to a service.
package enum PushFailure: Error, Equatable, Sendable {
    /// No connection for as long as the configuration allows.
    case unreachable
    /// The name does not resolve.
    case unknownHost
    /// TLS: the certificate is not from an accepted authority, expired, or for another name;
    /// the number is OpenSSL's (X509_V_ERR_*, verify(1)).
    case certificate(Int)
    /// TLS, for another reason than the certificate.
    case handshake
    /// The server does not speak HTTP/2.
    case noHTTP2
    /// The engine was closed before the push was sent.
    case closed
}

/// One push and what became of it.
package struct PushResult: Equatable, Sendable {
    /// As given with the batch, and the push's place in it.
    package var batch: UInt32
    package var order: UInt32
    package var outcome: PushOutcome
    /// Serial number of the connection that the push was on, new for every connection an engine
    /// opens: what one connection showed says nothing about another. 0: it was on none.
    package var connection: UInt32 = 0
}

/// Outcomes as they are handed over: many at a time, their bodies in one arena.
package struct PushOutcomes: Sendable, CustomStringConvertible, CustomReflectable {
    package var results: [PushResult] = []
    package var bodies: [UInt8] = []
    /// Serial numbers of connections that have ended: their last results are here or came before.
    /// Handed over also when there are no results.
    package var ended: [UInt32] = []

    package init() {}

    package var isEmpty: Bool { results.isEmpty && ended.isEmpty }

    /// The first 4 KiB of an answer's body.
    package func bytes(of body: PushBody) -> ArraySlice<UInt8> {
        bodies[Int(body.start)..<Int(body.start) + Int(body.count)]
    }

    /// A body is whatever the far end wrote: never shown.
    package var description: String { "PushOutcomes(\(results.count))" }
    package var customMirror: Mirror { Mirror(self, children: [:]) }

    mutating func append(_ reference: UInt64, _ outcome: PushOutcome, connection: UInt32 = 0) {
        results.append(
            PushResult(
                batch: UInt32(truncatingIfNeeded: reference >> 32),
                order: UInt32(truncatingIfNeeded: reference), outcome: outcome,
                connection: connection))
    }
}
