public import FoundationEssentials
import WakeSystem

/// Texts for people. No token, address or name from the wire is in them.
extension ClientError: LocalizedError {
    /// What failed: a sentence in English.
    public var errorDescription: String? { phrase.asSentence }

    /// What a person can do about it: a sentence in English; nil when there is only to wait.
    public var recoverySuggestion: String? { remedy?.asSentence }

    /// `errorDescription` in lower case and without the full stop, for lines of a terminal.
    package var phrase: String {
        switch self {
        case .network: "the server cannot be reached"
        case .tls: "the server's certificate cannot be verified"
        case .httpStatus(let number, _): "the server answered \(number)"
        case .truncated: "the answer broke off; it is continued next time"
        case .tooLarge: "the answer is larger than any feed's"
        case .badSignature: "what came is not signed with this feed's key"
        case .wrongFeed: "what came belongs to another feed"
        case .rollback: "the feed is older than one seen before"
        case .fork: "this feed shows different people different things"
        case .unwitnessed(let fault): fault.phrase
        case .corruptBatch: "a batch is damaged, also when fetched afresh"
        case .state(.newerVersion): "the state was written by a newer version of this program"
        case .state(.exposed): "the state directory or a file in it is open to others"
        case .state(.unusable(0)): "the state cannot be read or written"
        case .state(.unusable(let number)):
            "the state cannot be read or written: \(SystemError(number).reason)"
        case .locked: "another process works with this profile"
        case .diskFull: "there is no room for the state"
        case .configuration(let fault): fault.phrase
        case .protocolViolation: "the server does not follow the protocol"
        case .gatewayKey: "feed and gateway do not agree on a key for hidden registrations"
        case .relay(200...299, _):
            "the relay answered something that does not come from the service"
        case .relay(let number, _): "the relay answered \(number), and not the service"
        case .notRegistered: "nothing is registered"
        case .notServed: "the service sends nothing to such a push token"
        case .stillRegistered: "the service may still hold a registration"
        case .secrets: "the secrets cannot be read"
        case .metered(let time): "the day's bytes are used up until \(time.minuteText)"
        case .source: "the app's own source failed"
        case .cancelled: "interrupted"
        }
    }

    private var remedy: String? {
        switch self {
        case .badSignature, .tooLarge:
            "a captive portal's page looks like this: try again on another network"
        case .fork:
            "compare the fingerprint of the status with other people's, keep the evidence in the "
                + "state directory, and then start over"
        case .unwitnessed(.noQuorum), .unwitnessed(.missing):
            "ask the publisher which witnesses cosign this feed"
        case .unwitnessed(.otherHistory):
            "keep the evidence in the state directory, and show it to others who follow this feed"
        case .state(.newerVersion): "install that version"
        case .state(.exposed):
            "make the directory and its files the user's alone, without symbolic links"
        case .locked: "end the other one first"
        case .diskFull: "make room on the disk"
        case .gatewayKey: "ask the operator: the feed is to name the gateway's key"
        case .relay where !isTransient:
            "ask the operators whether this is the URL of a relay that leads to this service"
        case .notServed: "leave it to the event stream or to polls"
        case .stillRegistered: "unregister first"
        case .configuration(.libraryMissing(let package)): "install the package \(package)"
        default: nil
        }
    }
}

extension ClientError.ProofFault {
    fileprivate var phrase: String {
        switch self {
        case .missing: "the feed has no proof that everybody is shown the same"
        case .otherHead: "the feed's proof is of another head; a cache may be behind"
        case .otherLog: "the proof is of another log than this feed's"
        case .noQuorum: "too few witnesses have cosigned the feed's newest head"
        case .rollback: "the feed's log is smaller than it was"
        case .otherHistory: "this feed's log does not contain what it contained before"
        }
    }
}

extension ClientError.ConfigurationFault {
    fileprivate var phrase: String {
        switch self {
        case .feedURL: "the feed must be an https URL (http on loopback and onion services)"
        case .serviceURL: "the service must be an https URL (http on loopback and onion services)"
        case .obliviousURL: "the relay must be an https URL, and needs a service behind it"
        case .feedKey: "the key must be an Ed25519 public key as 43 characters of base64url"
        case .serviceMissing: "this needs a service"
        case .otherFeed: "this profile belongs to another feed"
        case .dailyByteBudget: "a day's budget is 262144 bytes at least"
        case .witnesses(0):
            "no quorum of the witnesses' policy can be verified: this needs Ed25519 keys"
        case .witnesses(let line): "line \(line) of the witnesses' policy is not understood"
        case .cacheCapacity: "the cache's size is a number of megabytes"
        case .proxy: "the proxy cannot be used, or an onion service needs one"
        case .libraryMissing(let package): "a library of the package \(package) cannot be loaded"
        }
    }
}

// MARK: Other errors of the module

extension SecretDirectory.Fault: LocalizedError {
    /// What failed: a sentence in English.
    public var errorDescription: String? { phrase.asSentence }

    /// The same in lower case and without the full stop.
    package var phrase: String {
        switch self {
        case .name: "a name is 1 to 64 letters, digits, dots, hyphens and underscores"
        case .size: "a secret has 16 to 1024 bytes"
        case .exists: "there is another secret of this name already"
        case .same(let name): "this is the same secret as \(name), and would match as one"
        case .missing: "there is no secret of this name"
        case .unusable: "the secrets cannot be read or written"
        }
    }
}

extension AppPushToken.Fault: LocalizedError {
    /// What failed: a sentence in English.
    public var errorDescription: String? {
        switch self {
        case .tooLong: "The push token is longer than 588 bytes."
        case .malformed: "The push token is not of the form its service issues."
        }
    }
}

extension String {
    /// With a capital letter and a full stop.
    var asSentence: String { prefix(1).uppercased() + dropFirst() + "." }
}
