/// Sends pushes to one service over its own HTTP/2 connections. Batches go in, batches of outcomes
/// come out; one thread does everything in between.
///
/// Every push that was taken gets exactly one outcome. The engine itself sends nothing twice:
/// whoever gets `retry` hands the push in again.
package final class PushEngine: Sendable {
    private let mailbox: EngineMailbox

    /// - Parameter onOutcomes: is called on the engine's thread with many outcomes at a time, in no
    ///   order, and must return soon. It may call `submit`.
    package init(
        _ configuration: EngineConfiguration,
        onOutcomes: @escaping @Sendable (PushOutcomes) -> Void
    ) throws(PushEngineError) {
        precondition(configuration.connections > 0, "an engine without connections")
        precondition(configuration.shape.fitsFrames, "a request shape larger than a frame")
        var context: TLSContext?
        if case .tls(let authorityFile) = configuration.transport {
            context = try TLSContext(authorityFile: authorityFile)
        }
        let mailbox = try EngineMailbox()
        self.mailbox = mailbox
        let shared = context
        try EngineThread.start {
            PushLoop(configuration, context: shared, mailbox: mailbox, deliver: onOutcomes).run()
        }
    }

    deinit { close() }

    /// Takes a batch, from any thread.
    /// - Returns: false when nothing was taken: too many pushes wait
    ///   (`EngineConfiguration.waitingPushes`), or the engine is closed.
    package func submit(_ batch: PushBatch) -> Bool { mailbox.post(.batch(batch)) }

    /// Pushes whose outcome is still to come.
    package var waiting: Int { mailbox.waiting }

    /// Replaces the value of `authorization` from the next push on, on open connections too.
    package func updateAuthorization(_ value: [UInt8]) { _ = mailbox.post(.authorization(value)) }

    /// Ends at once: what waits fails with `.closed`, what is in flight gets `retry`. The outcomes
    /// still come.
    package func close() { _ = mailbox.post(.close) }
}
