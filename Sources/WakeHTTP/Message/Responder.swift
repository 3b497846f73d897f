/// The response channel of one request: use it exactly once, at once or later, from any thread. A
/// second response, and one to a connection that is gone or got a 503 meanwhile, is dropped.
package struct Responder: Sendable {
    let reactor: Reactor
    let connection: ConnectionSocket.Key
    let sequence: UInt32

    /// The hash of the client's prefix; nil over a Unix socket or a local proxy that names none.
    package let source: PrefixHash?

    /// What every response on this channel carries besides its own fields.
    private(set) var fields = ResponseFields()

    /// The same channel, with fields that every response on it carries.
    package func adding(_ fields: ResponseFields) -> Responder {
        var responder = self
        responder.fields = fields
        return responder
    }

    package func respond(_ response: Response) {
        deliver(.response(response.adding(fields)))
    }

    /// Sends `head` without a length, `first`, and what is published on `hub`, until either side
    /// closes; 503 at a cap. Compute `first` at the call: a `publish` that starts later follows it.
    package func subscribe(to hub: StreamHub, head: Response, first: [UInt8]) {
        deliver(.stream(hub, head: head.adding(fields), first: first))
    }

    /// Begins a response with `head` whose content comes in chunks later.
    /// - Parameters:
    ///   - capacity: bytes of chunks that may wait for the client; twice as many may be in memory.
    ///   - onLoss: called once, on the loop's thread, when the client is gone before the end.
    package func stream(
        _ head: Response, capacity: Int, onLoss: @escaping @Sendable () -> Void
    ) -> StreamedResponse {
        let (reactor, connection, sequence) = (reactor, connection, sequence)
        let response = StreamedResponse(capacity: capacity, onLoss: onLoss) {
            reactor.loop.perform {
                reactor.assumeIsolated {
                    $0.connections.sendChunks(of: connection, sequence: sequence)
                }
            }
        }
        deliver(.chunks(response, head: head.adding(fields)))
        return response
    }

    private func deliver(_ answer: HTTPConnection.Answer) {
        let (reactor, connection, sequence) = (reactor, connection, sequence)
        // Twice, because a closure for both would be allocated in both.
        if reactor.loop.isCurrent {
            reactor.assumeIsolated {
                $0.connections.deliver(answer, to: connection, sequence: sequence)
            }
        } else {
            reactor.loop.perform {
                reactor.assumeIsolated {
                    $0.connections.deliver(answer, to: connection, sequence: sequence)
                }
            }
        }
    }
}
