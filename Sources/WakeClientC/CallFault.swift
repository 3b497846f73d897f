import CReveille
import Reveille
import WakeUnifiedPush

/// A failure of a call by its number in reveille.h.
struct CallFault: Error, Equatable {
    let number: Int32

    private init(_ error: reveille_error) { number = Int32(error.rawValue) }

    static let argument = CallFault(REVEILLE_ERROR_ARGUMENT)
    static let size = CallFault(REVEILLE_ERROR_SIZE)
    static let closed = CallFault(REVEILLE_ERROR_CLOSED)
    static let inCallback = CallFault(REVEILLE_ERROR_IN_CALLBACK)
    static let started = CallFault(REVEILLE_ERROR_STARTED)
    static let notPolled = CallFault(REVEILLE_ERROR_NOT_POLLED)
    static let system = CallFault(REVEILLE_ERROR_SYSTEM)
    static let serviceMissing = CallFault(REVEILLE_ERROR_SERVICE_MISSING)
    static let unknownMatch = CallFault(REVEILLE_ERROR_UNKNOWN_MATCH)

    init(_ error: ClientError) { number = error.number }

    init(_ fault: SecretDirectory.Fault) {
        switch fault {
        case .name: self.init(REVEILLE_ERROR_SECRET_NAME)
        case .size: self.init(REVEILLE_ERROR_SECRET_SIZE)
        case .exists: self.init(REVEILLE_ERROR_SECRET_EXISTS)
        case .same: self.init(REVEILLE_ERROR_SECRET_SAME)
        case .missing: self.init(REVEILLE_ERROR_SECRET_MISSING)
        case .unusable: self.init(REVEILLE_ERROR_SECRETS)
        }
    }

    init(_ error: UnifiedPushError) {
        switch error {
        case .name: self.init(REVEILLE_ERROR_BUS_NAME)
        case .vapidKey: self.init(REVEILLE_ERROR_VAPID_KEY)
        case .noBus: self.init(REVEILLE_ERROR_BUS)
        // The library's own is short.
        case .description: self.init(REVEILLE_ERROR_ARGUMENT)
        }
    }

    init(_ fault: AppPushToken.Fault) {
        switch fault {
        case .tooLong: self.init(REVEILLE_ERROR_TOKEN_TOO_LONG)
        case .malformed: self.init(REVEILLE_ERROR_TOKEN_MALFORMED)
        }
    }
}

extension ClientError {
    /// Its number in reveille.h.
    var number: Int32 {
        let error =
            switch self {
            case .network: REVEILLE_ERROR_NETWORK
            case .tls: REVEILLE_ERROR_TLS
            case .httpStatus: REVEILLE_ERROR_HTTP_STATUS
            case .truncated: REVEILLE_ERROR_TRUNCATED
            case .tooLarge: REVEILLE_ERROR_TOO_LARGE
            case .badSignature: REVEILLE_ERROR_BAD_SIGNATURE
            case .wrongFeed: REVEILLE_ERROR_WRONG_FEED
            case .rollback: REVEILLE_ERROR_ROLLBACK
            case .fork: REVEILLE_ERROR_FORK
            case .corruptBatch: REVEILLE_ERROR_CORRUPT_BATCH
            case .state(.newerVersion): REVEILLE_ERROR_STATE_NEWER
            case .state(.exposed): REVEILLE_ERROR_STATE_EXPOSED
            case .state(.unusable): REVEILLE_ERROR_STATE_UNUSABLE
            case .locked: REVEILLE_ERROR_LOCKED
            case .diskFull: REVEILLE_ERROR_DISK_FULL
            case .configuration(.feedURL): REVEILLE_ERROR_FEED_URL
            case .configuration(.serviceURL): REVEILLE_ERROR_SERVICE_URL
            case .configuration(.feedKey): REVEILLE_ERROR_FEED_KEY
            case .configuration(.serviceMissing): REVEILLE_ERROR_SERVICE_MISSING
            case .configuration(.otherFeed): REVEILLE_ERROR_OTHER_FEED
            case .configuration(.proxy): REVEILLE_ERROR_PROXY
            case .configuration(.dailyByteBudget): REVEILLE_ERROR_DAILY_BYTE_BUDGET
            case .configuration(.libraryMissing): REVEILLE_ERROR_LIBRARY_MISSING
            case .configuration(.witnesses): REVEILLE_ERROR_WITNESSES
            case .unwitnessed: REVEILLE_ERROR_UNWITNESSED
            case .configuration(.obliviousURL): REVEILLE_ERROR_OBLIVIOUS_URL
            // No number of reveille_configuration gives it, and programs in C have no data source.
            case .configuration(.cacheCapacity), .source, .metered:
                REVEILLE_ERROR_ARGUMENT
            case .gatewayKey: REVEILLE_ERROR_GATEWAY_KEY
            case .relay: REVEILLE_ERROR_RELAY
            case .protocolViolation: REVEILLE_ERROR_PROTOCOL
            case .notRegistered: REVEILLE_ERROR_NOT_REGISTERED
            case .notServed: REVEILLE_ERROR_NOT_SERVED
            case .stillRegistered: REVEILLE_ERROR_STILL_REGISTERED
            case .secrets: REVEILLE_ERROR_SECRETS
            case .cancelled: REVEILLE_ERROR_CANCELLED
            }
        return Int32(error.rawValue)
    }
}

/// The texts of `reveille_error_text`.
enum ErrorTexts {
    static func text(_ number: Int32) -> StaticString {
        guard let value = UInt32(exactly: number) else { return unknown }
        return switch reveille_error(rawValue: value) {
        case REVEILLE_OK: "no error"
        case REVEILLE_ERROR_ARGUMENT: "an argument is NULL, not UTF-8 or not of its list"
        case REVEILLE_ERROR_SIZE:
            "the size of a structure is not one that this version of the library knows"
        case REVEILLE_ERROR_CLOSED: "this is no client, or it was closed"
        case REVEILLE_ERROR_IN_CALLBACK: "this may not be called from a callback"
        case REVEILLE_ERROR_STARTED: "the client was started before"
        case REVEILLE_ERROR_NOT_POLLED: "the client was not started with reveille_start_polled"
        case REVEILLE_ERROR_SYSTEM: "the system has no thread, descriptor or memory left"
        case REVEILLE_ERROR_CANCELLED: "the client was closed meanwhile"
        case REVEILLE_ERROR_UNKNOWN_MATCH: "there is no match of this id"
        case REVEILLE_ERROR_NETWORK: "the server cannot be reached"
        case REVEILLE_ERROR_TLS: "the server's certificate or the TLS handshake failed"
        case REVEILLE_ERROR_HTTP_STATUS: "the server answered with another status than expected"
        case REVEILLE_ERROR_TRUNCATED: "the server's answer ended early"
        case REVEILLE_ERROR_TOO_LARGE: "the server's answer is longer than allowed"
        case REVEILLE_ERROR_BAD_SIGNATURE: "what came is not signed by the feed's key"
        case REVEILLE_ERROR_WRONG_FEED: "what came is signed for another feed"
        case REVEILLE_ERROR_ROLLBACK: "what came is older than what was seen before"
        case REVEILLE_ERROR_FORK: "the feed has two histories: nothing newer is checked"
        case REVEILLE_ERROR_CORRUPT_BATCH: "a batch is not what its signed header says"
        case REVEILLE_ERROR_PROTOCOL: "the server's answer does not follow the protocol"
        case REVEILLE_ERROR_UNWITNESSED:
            "no proof under the policy of witnesses shows that everybody is shown this head"
        case REVEILLE_ERROR_LOCKED: "another client works with this state directory"
        case REVEILLE_ERROR_STATE_NEWER: "the state was written by a newer version of the library"
        case REVEILLE_ERROR_STATE_EXPOSED: "others can reach the state, or it is a symbolic link"
        case REVEILLE_ERROR_STATE_UNUSABLE: "the state cannot be read or written"
        case REVEILLE_ERROR_DISK_FULL: "the disk is full"
        case REVEILLE_ERROR_FEED_URL:
            "the feed's URL is not https (http: loopback and onion services)"
        case REVEILLE_ERROR_SERVICE_URL:
            "the service's URL is not https (http: loopback and onion services)"
        case REVEILLE_ERROR_FEED_KEY: "the feed's key is not 43 characters of base64url, or no key"
        case REVEILLE_ERROR_SERVICE_MISSING: "the event stream and registrations need a service"
        case REVEILLE_ERROR_OTHER_FEED: "the state belongs to another feed"
        case REVEILLE_ERROR_PROXY:
            "the proxy's host or port cannot be, or an onion service has no proxy"
        case REVEILLE_ERROR_DAILY_BYTE_BUDGET: "the daily budget is less than 262144 bytes"
        case REVEILLE_ERROR_LIBRARY_MISSING: "libcurl is not installed"
        case REVEILLE_ERROR_WITNESSES:
            "the policy of witnesses is none, or none of its quorums can be met"
        case REVEILLE_ERROR_OBLIVIOUS_URL:
            "the relay's URL is not https (http: loopback and onion services), or has no service"
        case REVEILLE_ERROR_NOT_REGISTERED: "nothing is registered"
        case REVEILLE_ERROR_NOT_SERVED: "the service cannot wake this push token"
        case REVEILLE_ERROR_STILL_REGISTERED: "the service may still hold a registration"
        case REVEILLE_ERROR_TOKEN_TOO_LONG: "the push token is longer than the service stores"
        case REVEILLE_ERROR_TOKEN_MALFORMED: "the push token is not as its push service issues it"
        case REVEILLE_ERROR_BUS: "there is no session bus, or it does not answer"
        case REVEILLE_ERROR_BUS_NAME:
            "this is no name on a session bus, or not one of a distributor of UnifiedPush"
        case REVEILLE_ERROR_VAPID_KEY: "the VAPID key is not 87 characters of base64url, or no key"
        case REVEILLE_ERROR_GATEWAY_KEY:
            "feed and gateway do not agree on a key for hidden registrations"
        case REVEILLE_ERROR_RELAY: "the relay answered in place of the service"
        case REVEILLE_ERROR_SECRETS: "the secrets cannot be read or written, or others can"
        case REVEILLE_ERROR_SECRET_NAME: "the name of a secret is not 1 to 64 of a-z A-Z 0-9 . - _"
        case REVEILLE_ERROR_SECRET_SIZE: "a secret has 16 to 1024 bytes"
        case REVEILLE_ERROR_SECRET_EXISTS: "there is another secret of this name"
        case REVEILLE_ERROR_SECRET_SAME: "the same secret is there under another name"
        case REVEILLE_ERROR_SECRET_MISSING: "there is no secret of this name"
        default: unknown
        }
    }

    private static let unknown: StaticString = "a number that is no error"
}
