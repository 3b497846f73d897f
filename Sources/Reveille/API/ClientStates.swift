public import FoundationEssentials

/// The state of the event stream.
public enum StreamState: Sendable, Equatable {
    /// The client only polls, or does not run.
    case unused
    /// The request is made, and nothing has come yet.
    case connecting
    /// Events come.
    case connected
    /// It could not be opened, or ended; tried again.
    case waiting
    /// The server answered with this status, or with something else than a stream; tried again.
    case refused(status: Int)
    /// The server accepted, and its first event, which it sends at once, did not come: a proxy on
    /// the way keeps back what should pass. Tried again.
    case silent

    enum Name: String {
        case unused, connecting, connected, waiting, refused, silent
    }

    private var entry: (name: Name, number: Int32, phrase: String) {
        switch self {
        case .unused: (.unused, 0, "not used, this client polls")
        case .connecting: (.connecting, 1, "is being opened")
        case .connected: (.connected, 2, "connected")
        case .waiting: (.waiting, 3, "closed, tried again later")
        case .refused(let status):
            (.refused, 4, "refused with status \(status), tried again later")
        case .silent:
            (
                .silent, 5,
                "SILENT: accepted, but nothing comes; a proxy on the way keeps it back. Polling "
                    + "continues"
            )
        }
    }

    /// A stable name for scripts.
    public var name: String { entry.name.rawValue }

    /// Of `enum reveille_stream` in reveille.h.
    package var number: Int32 { entry.number }

    /// For lines of a terminal.
    package var phrase: String { entry.phrase }

    /// The HTTP status of a refusal.
    package var status: Int? { if case .refused(let status) = self { status } else { nil } }

    init(_ name: Name, status: Int?) {
        switch name {
        case .unused: self = .unused
        case .connecting: self = .connecting
        case .connected: self = .connected
        case .waiting: self = .waiting
        case .refused: self = .refused(status: status ?? 0)
        case .silent: self = .silent
        }
    }
}

/// The progress of the desired registration.
public enum RegistrationState: Sendable, Equatable {
    /// Nothing is registered, and nothing is desired.
    case none
    /// The service acknowledged the push token.
    case registered
    /// The push token is on its way; the client keeps trying. `failure` is of the last attempt.
    case registering(failure: ClientError?)
    /// Many register with the service now: it wants a proof of work, which the client computes for
    /// some seconds before it sends the push token again.
    case proving
    /// The erasure is on its way, with this service or one of an earlier configuration; the client
    /// keeps trying, across restarts.
    case unregistering(failure: ClientError?)
    /// The feed's publisher has switched registrations off for now; it stays desired.
    case suspended

    enum Name: String {
        case none, registered, registering, proving, unregistering, suspended
    }

    private var entry: (name: Name, number: Int32, phrase: String, failure: ClientError?) {
        switch self {
        case .none: (.none, 0, "nothing is registered", nil)
        case .registered: (.registered, 1, "registered", nil)
        case .registering(let failure):
            (
                .registering, 2,
                failure == .notServed
                    ? "not registered" : "registering, run and sync keep trying", failure
            )
        case .proving:
            (
                .proving, 3,
                "registering: many do so now, so this computer works on a proof for some seconds",
                nil
            )
        case .unregistering(let failure):
            (.unregistering, 4, "unregistering, run and sync keep trying", failure)
        case .suspended:
            (.suspended, 5, "registered once the publisher allows it again", nil)
        }
    }

    /// A stable name for scripts.
    package var name: String { entry.name.rawValue }

    /// Of `enum reveille_registration` in reveille.h.
    package var number: Int32 { entry.number }

    /// For lines of a terminal, without the failure.
    package var phrase: String { entry.phrase }

    /// The failure of the last attempt.
    package var failure: ClientError? { entry.failure }

    init(_ name: Name, failure: ClientError?) {
        switch name {
        case .none: self = .none
        case .registered: self = .registered
        case .registering: self = .registering(failure: failure)
        case .proving: self = .proving
        case .unregistering: self = .unregistering(failure: failure)
        case .suspended: self = .suspended
        }
    }
}

/// The reason of a cycle.
public enum SyncReason: Sendable, Equatable {
    /// A person or the app wants to know now.
    case manual
    /// A platform push arrived and the app hands it over.
    case push
    /// An event of the stream arrived; `hint` is the newest sequence it knows of, 0 for none.
    case wake(hint: UInt64)
    /// The timer.
    case poll
    /// The first cycle after the start, after a reconnection or after the machine slept.
    case resumed
}

/// The result of a cycle.
public enum SyncOutcome: Sendable, Equatable {
    /// The feed has nothing that was not checked before.
    case upToDate
    /// New batches were checked. `matches` are those that were not known before.
    case checked(batches: Int, matches: Int)
    /// As `checked`; `waiting` batches exceed the quota until `until`.
    case metered(batches: Int, matches: Int, waiting: Int, until: Date)
    /// The head is older than the wake said: an edge of a CDN lags behind. Checked again later.
    case behind
    /// The feed is retired: nothing will ever be published again.
    case retired
    /// A push that came while wakes are paused, or after the registration was given up.
    case ignored

    /// The outcome in numbers; 0 where there is none.
    package struct Figures: Sendable {
        /// A stable name for scripts.
        package let name: String
        /// Of `enum reveille_result` in reveille.h.
        package let number: Int32
        package var batches = 0
        package var matches = 0
        package var waiting = 0
        package var until: Date?
    }

    package var figures: Figures {
        switch self {
        case .upToDate: Figures(name: "up-to-date", number: 0)
        case .checked(let batches, let matches):
            Figures(name: "checked", number: 1, batches: batches, matches: matches)
        case .metered(let batches, let matches, let waiting, let until):
            Figures(
                name: "metered", number: 2, batches: batches, matches: matches, waiting: waiting,
                until: until)
        case .behind: Figures(name: "behind", number: 3)
        case .retired: Figures(name: "retired", number: 4)
        case .ignored: Figures(name: "ignored", number: 5)
        }
    }
}

/// Times as the state holds them: whole seconds since 1970.
extension Date {
    package init(seconds: Int64) { self.init(timeIntervalSince1970: Double(seconds)) }

    package var wholeSeconds: Int64 { Int64(timeIntervalSince1970.rounded(.down)) }

    /// To the minute, in UTC.
    package var minuteText: String {
        let text = formatted(
            .iso8601.year().month().day().dateTimeSeparator(.space).time(
                includingFractionalSeconds: false))
        return text.prefix(16) + " UTC"
    }
}
