/// Why the client could not do what it was asked. Numbers and cases only, never text from the
/// wire; expected outcomes are values of `SyncOutcome` and `RegistrationState` instead.
public enum ClientError: Error, Sendable, Equatable {
    /// Resolving, connecting, sending, receiving or waiting failed.
    case network
    /// Certificate, host name or handshake; nothing is ever tried with less protection.
    case tls
    /// The server answered, but not as the protocol says. `retryAfter` is in seconds.
    case httpStatus(Int, retryAfter: Int?)
    /// The answer ended early; what came is kept and continued next time.
    case truncated
    /// The answer is longer than its cap, or said it would be.
    case tooLarge
    /// No signature of the feed's key: tampering, a wrong key, or a captive portal's page.
    case badSignature
    /// Signed by the right key for another feed.
    case wrongFeed
    /// The head is older than one seen before; an edge of a CDN may lag behind.
    case rollback
    /// Two different histories under one sequence number. The evidence is kept in the cache.
    case fork
    /// A batch whose bytes do not match its signed header, even when fetched afresh.
    case corruptBatch
    /// The state database cannot be used.
    case state(StateFault)
    /// Another process works with this profile.
    case locked
    /// No room for the state; nothing was lost and the cursor did not move.
    case diskFull
    /// The configuration cannot work; see the case.
    case configuration(ConfigurationFault)
    /// The service's answer does not follow the protocol.
    case protocolViolation
    /// There is no instance token: nothing was ever registered, or it is all unregistered.
    case notRegistered
    /// The service has no way to wake this push token: it does not serve this push service, or not
    /// the host of this endpoint. Only its operator can change that; the wish is kept and asked
    /// again after hours. Waking by the event stream and by polling works all the same.
    case notServed
    /// The service may still hold a registration: unregister first.
    case stillRegistered
    /// The app's `LocalSecrets` failed.
    case secrets
    /// The app's own `DataSource` failed; see the case.
    case source(SourceFault)
    /// The task was cancelled.
    case cancelled

    /// What is wrong with the state.
    public enum StateFault: Sendable, Equatable {
        /// Written by a newer version of this library.
        case newerVersion
        /// Others can read or write it, it belongs to someone else, or it is a symbolic link.
        case exposed
        /// It cannot be read or written. The number is of errno(3), 0 when SQLite has none.
        case unusable(Int32)
    }

    /// What is wrong with the app's own source. What was found before is stored, and the cursor
    /// stands where it was checked.
    public enum SourceFault: Sendable, Equatable {
        /// It threw.
        case failed
        /// A call took longer than its time limit, and was cancelled.
        case slow
        /// A page's cursor is longer than `DataCursor.maximumByteCount`; nothing of it is stored.
        case cursorTooLarge
        /// It said that there is more, and the cursor did not move.
        case stuck
        /// There was no end to its pages within one cycle (4,096). The next cycle goes on after
        /// the last one.
        case endless
    }

    /// What is wrong with the configuration.
    public enum ConfigurationFault: Sendable, Equatable {
        /// Not an https URL (http is for loopback and onion services).
        case feedURL
        /// Not an https URL (http is for loopback and onion services).
        case serviceURL
        /// Not 43 characters of base64url, or no public key of Ed25519.
        case feedKey
        /// The event stream and registrations need a service URL.
        case serviceMissing
        /// The state belongs to another feed, or to a source of the other kind.
        case otherFeed
        /// The proxy's host, port or isolation.
        case proxy
        /// Fewer bytes a day than 262,144: not even a part of a batch would come.
        case dailyByteBudget
        /// Fewer than no bytes of cache.
        case cacheCapacity
        /// A shared library that is loaded at run time is missing; the package that brings it.
        case libraryMissing(package: String)
    }
}

extension ClientError {
    /// Whether trying again later can help without anybody changing anything.
    public var isTransient: Bool {
        switch self {
        case .network, .tls, .truncated, .rollback, .badSignature, .wrongFeed, .corruptBatch,
            .diskFull, .cancelled, .source(.failed), .source(.slow), .source(.endless):
            true
        case .httpStatus(let status, _): status >= 500 || status == 429 || status == 408
        case .tooLarge, .fork, .state, .locked, .configuration, .protocolViolation, .notRegistered,
            .notServed, .stillRegistered, .secrets, .source(.cursorTooLarge), .source(.stuck):
            false
        }
    }

    /// A stable word for scripts, status files and logs.
    public var code: String {
        switch self {
        case .network: "network"
        case .tls: "tls"
        case .httpStatus: "http-status"
        case .truncated: "truncated"
        case .tooLarge: "too-large"
        case .badSignature: "bad-signature"
        case .wrongFeed: "wrong-feed"
        case .rollback: "rollback"
        case .fork: "fork"
        case .corruptBatch: "corrupt-batch"
        case .state: "state"
        case .locked: "locked"
        case .diskFull: "disk-full"
        case .configuration: "configuration"
        case .protocolViolation: "protocol-violation"
        case .notRegistered: "not-registered"
        case .notServed: "not-served"
        case .stillRegistered: "still-registered"
        case .secrets: "secrets"
        case .source: "source"
        case .cancelled: "cancelled"
        }
    }
}
