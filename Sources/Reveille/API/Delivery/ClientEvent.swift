public import WakeFeed

/// An event of a client, from ``Reveille/WakeClient/events``.
public enum ClientEvent: Sendable {
    /// A match that waits for ``MatchDelivery/acknowledge()``.
    case match(MatchDelivery)
    /// A warning that the local user should see. It is over when the loop asks for the next event.
    case warning(Warning)
    /// The client's knowledge about itself: at first, and when it has changed.
    case status(ClientStatus)
}

/// The delivery of one match to a loop over ``Reveille/WakeClient/events``.
///
/// A match is delivered until it is acknowledged. When the last copy of a delivery is dropped
/// without that, because the loop threw, the task ended or the app forgot, the match is delivered
/// again in 1 minute to 6 hours, as after ``postpone()``; after a kill at the next start.
public struct MatchDelivery: Sendable, Identifiable {
    /// The match.
    public let match: Match
    /// The number of matches that loops may hold without having acknowledged them.
    public static let mostUnacknowledged = 64
    private let ticket: DeliveryTicket

    init(_ match: Match, _ ticket: DeliveryTicket) {
        self.match = match
        self.ticket = ticket
    }

    /// The match's id.
    public var id: MatchID { match.id }

    /// Records that the user was notified: the match is never delivered again, and its name and
    /// note are overwritten in every file. Returns when that is done; while a check runs, at its
    /// end: no request shows it. A full disk does not matter: it is recorded when there is room, if
    /// the process lives until then. A second call does nothing.
    public func acknowledge() async { await ticket.end(.acknowledged) }

    /// Gives the match back: it is delivered again in 1 minute to 6 hours, later each time. After
    /// `acknowledge()` this does nothing.
    public func postpone() async { await ticket.end(.postponed) }
}

/// Loops over events, in place of a handler.
extension WakeClient {
    /// The events of a client: one loop over them is the whole of an app's interface.
    ///
    /// ```swift
    /// async let running: Void = client.run()
    /// for await event in client.events {
    ///     switch event {
    ///     case .match(let delivery):
    ///         show(delivery.match)
    ///         await delivery.acknowledge()
    ///     case .warning(let warning): show(warning)
    ///     case .status(let status): show(status)
    ///     }
    /// }
    /// try await running
    /// ```
    ///
    /// Nothing is buffered: each event is read from the state when the loop asks for it, and a
    /// status that was followed by another is never seen. Events come while `run` runs and after
    /// each `synchronize`. A loop ends when its task is cancelled, and when `run` has ended and
    /// what was found is handed out. One that begins after `run` threw, or ended as the feed is
    /// retired, ends in the same way until it runs again or `erase` begins everything anew; one
    /// that begins after `run` was cancelled waits for the next.
    ///
    /// Each stream is for one loop. Several loops share matches and warnings: each goes to one of
    /// them, and is free for the others when that loop drops it. A status goes to all. At most
    /// ``MatchDelivery/mostUnacknowledged`` matches are out at a time; the next comes when one of
    /// them is acknowledged or given back.
    ///
    /// The matches and warnings of a client that was made with a handler go to that handler, and
    /// its events are statuses alone.
    public nonisolated var events: AsyncStream<ClientEvent> {
        let subscriber = EventSubscriber(self)
        return AsyncStream { await subscriber.next() }
    }
}
