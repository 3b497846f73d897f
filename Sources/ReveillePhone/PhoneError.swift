public import Foundation

/// A failure of the client: numbers and cases, never text from the wire. The names are those of
/// `ClientError` of the library for Linux.
public enum PhoneError: Error, Sendable, Equatable, Codable {
    /// Resolving, connecting, sending, receiving or waiting failed.
    case network
    /// Certificate, host name or handshake; nothing is ever tried with less protection.
    case tls
    /// The server answered with this status, and not as the protocol says. Redirects are not
    /// followed: they are such answers, too.
    case httpStatus(Int)
    /// The answer ended early.
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
    /// directory; ``PhoneClient/startOver()`` is the way out.
    case fork
    /// The head has no proof that all clients are shown it, which the policy of witnesses asks for.
    /// The head before stays in force.
    case unwitnessed(ProofFault)
    /// A batch whose bytes do not match its signed header, also when fetched again.
    case corruptBatch
    /// The server lacks a batch that its head names.
    case missingBatch
    /// Correctly signed, but outside this version of the format.
    case protocolViolation
    /// The state cannot be read or written.
    case state(StateFault)
    /// No room for the state; nothing was lost and the cursor did not move.
    case diskFull
    /// The configuration cannot work.
    case configuration(ConfigurationFault)
    /// The service does not serve this push service; it is asked again after hours.
    case notServed
    /// The time of a cycle was over before all was checked: the rest is checked next time.
    case outOfTime
    /// The task was cancelled.
    case cancelled

    /// A fault of a head's proof.
    public enum ProofFault: String, Sendable, CaseIterable, Codable {
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
    public enum StateFault: String, Sendable, CaseIterable, Codable {
        /// Written by a later version of this library. Nothing of it is changed.
        case otherVersion = "other-version"
        /// It cannot be read or written: before the first unlock after a start of the device, for
        /// example, or in a directory that belongs to another app.
        case unusable
        /// The same of the Keychain.
        case keychain
    }

    /// A fault of the configuration.
    public enum ConfigurationFault: String, Sendable, CaseIterable, Codable {
        /// Not an https URL (http is for loopback).
        case feedURL = "feed-url"
        /// Not an https URL (http is for loopback).
        case serviceURL = "service-url"
        /// Not 43 characters of base64url, or no public key of Ed25519.
        case feedKey = "feed-key"
        /// Registrations need a service URL.
        case serviceMissing = "service-missing"
        /// Not the URL of a directory on this device.
        case stateDirectory = "state-directory"
        /// The policy of witnesses cannot be read, or no quorum of it can be verified.
        case witnesses
    }
}

/// All that is said of an error, once.
extension PhoneError: LocalizedError {
    /// A stable word for a support page.
    public var code: String {
        switch self {
        case .unwitnessed(let fault): entry.name + "-" + fault.rawValue
        case .state(let fault): entry.name + "-" + fault.rawValue
        case .configuration(let fault): entry.name + "-" + fault.rawValue
        case .httpStatus(let status): entry.name + "-\(status)"
        default: entry.name
        }
    }

    /// What failed: a sentence in English.
    public var errorDescription: String? {
        entry.phrase.prefix(1).uppercased() + entry.phrase.dropFirst() + "."
    }

    private var entry: (name: String, phrase: String) {
        switch self {
        case .network: ("network", "the server cannot be reached")
        case .tls: ("tls", "the connection to the server is not protected")
        case .httpStatus(let status): ("http-status", "the server answered \(status)")
        case .truncated: ("truncated", "the answer broke off")
        case .tooLarge: ("too-large", "the answer is larger than any feed's")
        case .badSignature: ("bad-signature", "what came is not signed with this feed's key")
        case .wrongFeed: ("wrong-feed", "what came belongs to another feed")
        case .rollback: ("rollback", "the feed is older than one seen before")
        case .fork: ("fork", "this feed shows different people different things")
        case .unwitnessed(let fault): ("unwitnessed", fault.phrase)
        case .corruptBatch: ("corrupt-batch", "a batch is damaged, also when fetched again")
        case .missingBatch:
            ("missing-batch", "the server lacks a batch that the feed's head names")
        case .protocolViolation:
            ("protocol-violation", "what came is signed, and not of this version of the format")
        case .state(let fault): ("state", fault.phrase)
        case .diskFull: ("disk-full", "there is no room on the disk")
        case .configuration(let fault): ("configuration", fault.phrase)
        case .notServed: ("not-served", "the service does not serve this push service")
        case .outOfTime: ("out-of-time", "there was no time left; the rest is checked next time")
        case .cancelled: ("cancelled", "the task was cancelled")
        }
    }
}

extension PhoneError.ProofFault {
    fileprivate var phrase: String {
        switch self {
        case .missing: "the head comes without a proof that all clients are shown it"
        case .otherHead: "the head comes with the proof of another head"
        case .otherLog: "the head's proof is of another log than the feed's"
        case .noQuorum: "too few witnesses have cosigned the head"
        case .rollback: "the feed's log is smaller than the one seen before"
        case .otherHistory: "the feed's log does not contain the one seen before"
        }
    }
}

extension PhoneError.StateFault {
    fileprivate var phrase: String {
        switch self {
        case .otherVersion: "the state was written by a later version of this app"
        case .unusable: "the state cannot be read or written"
        case .keychain: "the Keychain cannot be read or written"
        }
    }
}

extension PhoneError.ConfigurationFault {
    fileprivate var phrase: String {
        switch self {
        case .feedURL: "the feed's address is not an https URL"
        case .serviceURL: "the service's address is not an https URL"
        case .feedKey: "the feed's key is not 43 characters of base64url"
        case .serviceMissing: "there is no service to register with"
        case .stateDirectory: "the state directory is not on this device"
        case .witnesses: "the policy of witnesses cannot be used"
        }
    }
}
