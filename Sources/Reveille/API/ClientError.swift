public import FoundationEssentials
import WakeFeed
import WakeFetch

/// A failure of the client: numbers and cases, never text from the wire.
public enum ClientError: Error, Sendable, Equatable {
    /// Resolving, connecting, sending, receiving or waiting failed.
    case network
    /// Certificate, host name or handshake; nothing is ever tried with less protection.
    case tls(TLSFault)
    /// The server answered, but not as the protocol says, and asked for this pause.
    case httpStatus(Int, retryAfter: Duration?)
    /// The answer ended early; the received part is kept and continued next time.
    case truncated
    /// The answer is longer than its limit, or announced to be.
    case tooLarge
    /// No signature of the feed's key: tampering, a wrong key, or a captive portal's page.
    case badSignature
    /// Signed by the right key for another feed.
    case wrongFeed
    /// The head is older than one seen before; an edge of a CDN may lag behind.
    case rollback
    /// Two different histories under one sequence number. Both halves of the proof are in the state
    /// directory; `startOver()` is the way out.
    case fork
    /// The head has no proof that all clients are shown it, which the policy of witnesses asks for.
    /// The head before stays in force.
    case unwitnessed(ProofFault)
    /// A batch whose bytes do not match its signed header, even when fetched afresh.
    case corruptBatch
    /// The server lacks a batch that its head names.
    case missingBatch
    /// The state database cannot be used.
    case state(StateFault)
    /// Another process works with this profile. Or `run` runs, which is to be ended first.
    case locked
    /// No room for the state; nothing was lost and the cursor did not move.
    case diskFull
    /// The configuration cannot work; see the case.
    case configuration(ConfigurationFault)
    /// The service's answer does not follow the protocol.
    case protocolViolation
    /// The feed's head names no key that registrations may be encapsulated for, or the one that is
    /// offered is another (a key of one's own would tell who one is), or the service's gateway does
    /// not know it. Nothing is sent that another key opens.
    case gatewayKey
    /// The relay of registrations answered with this status in place of the service, and asked for
    /// this pause; 200: with something that does not come from the service.
    case relay(Int, retryAfter: Duration?)
    /// There is no instance token: nothing was ever registered, or it is all unregistered.
    case notRegistered
    /// The service does not serve this push service or endpoint's host; tried again after hours.
    case notServed
    /// The service may still hold a registration: unregister first.
    case stillRegistered
    /// The app's `LocalSecrets` failed.
    case secrets
    /// A `PrivateFetch` has used up the bytes of the day, until this time.
    case metered(until: Date)
    /// The app's own `DataSource` failed; see the case.
    case source(SourceFault)
    /// The task was cancelled.
    case cancelled

    /// A fault of a connection's protection.
    public enum TLSFault: String, Sendable, CaseIterable {
        /// No common version or cipher, or no TLS at all.
        case handshake
        /// The server's certificate has expired, by this device's clock.
        case expired
        /// The server's certificate begins later, by this device's clock.
        case notYetValid = "not-yet-valid"
        /// The certificate is for another name than the server's.
        case otherName = "other-name"
        /// No authority that this device trusts has issued the certificate.
        case unknownIssuer = "unknown-issuer"

        /// By the numbers of libcurl-errors(3) and OpenSSL's x509_vfy.h.
        init(code: Int32, certificate: Int) {
            switch (code, certificate) {
            // CURLE_PEER_FAILED_VERIFICATION alone is about the certificate.
            case (60, 9): self = .notYetValid
            case (60, 10): self = .expired
            // 1: libcurl looks at the name before it asks OpenSSL for a number.
            case (60, 0), (60, 1), (60, 62): self = .otherName
            case (60, _), (77, _): self = .unknownIssuer
            default: self = .handshake
            }
        }
    }

    /// A fault of a head's proof.
    public enum ProofFault: String, Sendable, CaseIterable {
        /// There is none, or it is something else.
        case missing
        /// It is another head's.
        case otherHead = "other-head"
        /// Of a log that is not the feed's, or not signed with its key.
        case otherLog = "other-log"
        /// Too few witnesses of the policy have cosigned.
        case noQuorum = "no-quorum"
        /// The log is smaller than the one that was accepted before.
        case rollback
        /// The log does not contain the one that was accepted before: the publisher keeps two. The
        /// proof is kept in the state directory.
        case otherHistory = "other-history"
    }

    /// A fault of the state.
    public enum StateFault: Sendable, Equatable {
        /// Written by another version of this library. Nothing of it is changed.
        case otherVersion
        /// It is no database, or a broken one. The next start of the client puts it aside and
        /// begins again.
        case damaged
        /// Others can read or write it, or it is a symbolic link.
        case exposed
        /// It belongs to another user.
        case foreign
        /// It cannot be read or written. The number is of errno(3), 0 when SQLite has none.
        case unusable(Int32)
    }

    /// A fault of the app's own source. Matches found before are stored.
    public enum SourceFault: String, Sendable, CaseIterable {
        /// It threw.
        case failed
        /// A call took longer than its time limit, and was cancelled.
        case slow
        /// A page's cursor is longer than `DataCursor.maximumByteCount`; nothing of it is stored.
        case cursorTooLarge = "cursor-too-large"
        /// It said that there is more, and the cursor did not move.
        case stuck
        /// More than 4,096 pages in one cycle. The next one goes on after the last of them.
        case endless
    }

    /// A fault of the configuration.
    public enum ConfigurationFault: Sendable, Equatable {
        /// Not an https URL (http is for loopback and onion services).
        case feedURL
        /// Not an https URL (http is for loopback and onion services).
        case serviceURL
        /// Not an https URL (http is for loopback and onion services), or without a service.
        case obliviousURL
        /// Not 43 characters of base64url, or no public key of Ed25519.
        case feedKey
        /// The event stream and registrations need a service URL.
        case serviceMissing
        /// The state belongs to a source of the other kind: a feed's, or the app's own.
        case otherFeed
        /// The proxy's host, port or isolation.
        case proxy
        /// Fewer bytes a day than 262,144: not even a part of a batch would come.
        case dailyByteBudget
        /// Fewer than no bytes of cache.
        case cacheCapacity
        /// The policy of witnesses, in this line; 0: no quorum of it can be verified.
        case witnesses(line: Int)
        /// A shared library that is loaded at run time is missing; the package that brings it.
        case libraryMissing(package: String)
    }
}

extension ClientError {
    init(_ error: FetchError) {
        switch error {
        case .libraryMissing(let library):
            self = .configuration(.libraryMissing(package: library.package))
        case .invalidURL, .invalidField: self = .configuration(.feedURL)
        case .onionWithoutProxy: self = .configuration(.proxy)
        case .network, .addressRefused, .timeout, .unanswered, .closed, .outOfResources:
            self = .network
        case .tls(let code, let certificate):
            self = .tls(TLSFault(code: code, certificate: certificate))
        case .tooLarge: self = .tooLarge
        case .truncated: self = .truncated
        case .cancelled: self = .cancelled
        case .keyRefused: self = .gatewayKey
        case .notEncapsulated(let status, let retryAfter):
            self = .relay(status, retryAfter: retryAfter.map { .seconds($0) })
        case .stopped, .protocolViolation: self = .protocolViolation
        }
    }

    /// The wait that the server asked for.
    var retryAfter: Duration? {
        switch self {
        case .httpStatus(_, let pause), .relay(_, let pause): pause
        default: nil
        }
    }

    /// A failure to get one batch, which keeps no other from being checked.
    var isOfBatch: Bool {
        switch self {
        case .network, .tls, .httpStatus, .truncated, .tooLarge, .badSignature, .wrongFeed,
            .corruptBatch, .missingBatch, .protocolViolation:
            true
        default: false
        }
    }

    /// An answer that captive portals give to a request for a head.
    var isOfPortal: Bool {
        switch self {
        case .tooLarge: true
        case .httpStatus(let status, _): [302, 303, 307, 511].contains(status)
        default: false
        }
    }

    /// The service's answer to a registration, when that was no success.
    init(registrationStatus status: Int, retryAfter: Int?) {
        // Policy/PROTOCOL.md: the operator alone can change the answer.
        self =
            status == 422
            ? .notServed : .httpStatus(status, retryAfter: retryAfter.map { .seconds($0) })
    }

    init(_ error: FeedError) {
        switch error {
        case .truncated: self = .truncated
        case .tooLarge: self = .tooLarge
        case .badSignature: self = .badSignature
        case .wrongFeed: self = .wrongFeed
        case .rollback: self = .rollback
        case .fork: self = .fork
        case .malformedHead, .malformedKeys: self = .protocolViolation
        case .corruptBatch: self = .corruptBatch
        }
    }
}
