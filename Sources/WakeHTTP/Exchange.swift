/// The way back to the client for one request: use it exactly once, at once or later, from any
/// thread. A second answer, and one to a connection that is gone or was told 503 meanwhile, is
/// dropped.
package struct Exchange: Sendable {
    let reactor: Reactor
    let connection: ConnectionID
    let sequence: UInt32

    /// Stands for the client's address prefix; nil over a Unix socket and for a front on this
    /// machine, unless the front said by PROXY protocol whom it speaks for.
    package let source: SourceTag?

    /// Sends `response`.
    package func respond(_ response: Response) {
        give(.response(response))
    }

    /// Sends `head` without a length, then `first`, then whatever is published on `hub`, until
    /// either side closes. At a cap the client is told 503 instead. Compute `first` where you call
    /// this: a `publish` that starts later follows it.
    package func subscribe(to hub: StreamHub, head: Response, first: [UInt8]) {
        give(.stream(hub, head: head, first: first))
    }

    /// Begins an answer with `head`, whose content comes in pieces later.
    /// - Parameters:
    ///   - waiting: bytes of pieces that may wait for the far end; twice as many may be in memory.
    ///   - lost: called once, on the loop's thread, when the client is gone before the answer was
    ///     ended.
    package func stream(
        _ head: Response, waiting: Int, lost: @escaping @Sendable () -> Void
    ) -> StreamedAnswer {
        let (reactor, connection, sequence) = (reactor, connection, sequence)
        let answer = StreamedAnswer(bound: waiting, lost: lost) {
            reactor.loop.perform {
                reactor.assumeIsolated { $0.lookAtPieces(of: connection, sequence: sequence) }
            }
        }
        give(.pieces(answer, head: head))
        return answer
    }

    private func give(_ answer: Connection.Answer) {
        let (reactor, connection, sequence) = (reactor, connection, sequence)
        if reactor.loop.isCurrent {
            reactor.assumeIsolated { $0.deliver(answer, to: connection, sequence: sequence) }
        } else {
            reactor.loop.perform {
                reactor.assumeIsolated { $0.deliver(answer, to: connection, sequence: sequence) }
            }
        }
    }
}
