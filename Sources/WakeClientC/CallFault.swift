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

    init(_ fault: SecretDirectory.Fault) { number = fault.number }

    init(_ fault: AppPushToken.Fault) { number = fault.number }

    init(_ error: UnifiedPushError) {
        switch error {
        case .name: self.init(REVEILLE_ERROR_BUS_NAME)
        case .vapidKey: self.init(REVEILLE_ERROR_VAPID_KEY)
        case .noBus: self.init(REVEILLE_ERROR_BUS)
        // The library's own is short.
        case .description: self.init(REVEILLE_ERROR_ARGUMENT)
        }
    }
}

/// The texts of `reveille_error_text`.
enum ErrorTexts {
    /// Of errors that the client library does not have, or whose sentence has a value in it.
    private static let own: [reveille_error: String] = [
        REVEILLE_OK: "no error",
        REVEILLE_ERROR_ARGUMENT: "an argument is NULL, not UTF-8 or not of its list",
        REVEILLE_ERROR_SIZE:
            "the size of a structure is not one that this version of the library knows",
        REVEILLE_ERROR_CLOSED: "this is no client, or it was closed",
        REVEILLE_ERROR_IN_CALLBACK: "this may not be called from a callback",
        REVEILLE_ERROR_STARTED: "the client was started before",
        REVEILLE_ERROR_NOT_POLLED: "the client was not started with reveille_start_polled",
        REVEILLE_ERROR_SYSTEM: "the system has no thread, descriptor or memory left",
        REVEILLE_ERROR_CANCELLED: "the client was closed meanwhile",
        REVEILLE_ERROR_UNKNOWN_MATCH: "there is no match of this id",
        REVEILLE_ERROR_HTTP_STATUS: "the server answered with another status than expected",
        REVEILLE_ERROR_UNWITNESSED:
            "no proof under the policy of witnesses shows that all clients are shown this head",
        REVEILLE_ERROR_LIBRARY_MISSING: "libcurl is not installed",
        REVEILLE_ERROR_WITNESSES:
            "the policy of witnesses is none, or none of its quorums can be met",
        REVEILLE_ERROR_RELAY: "the relay answered in place of the service",
        REVEILLE_ERROR_BUS: "there is no session bus, or it does not answer",
        REVEILLE_ERROR_BUS_NAME:
            "this is no name on a session bus, or not one of a distributor of UnifiedPush",
        REVEILLE_ERROR_VAPID_KEY: "the VAPID key is not 87 characters of base64url, or no key",
    ]

    /// All of them by their numbers.
    static var all: [Int32: String] {
        let secrets: [SecretDirectory.Fault] = [
            .unusable, .name, .size, .exists, .same(as: ""), .missing,
        ]
        let tokens: [AppPushToken.Fault] = [.tooLong, .malformed]
        var texts: [Int32: String] = [:]
        for fault in tokens { texts[fault.number] = fault.phrase }
        for error in ClientError.examples { texts[error.number] = error.phrase }
        for fault in secrets { texts[fault.number] = fault.phrase }
        for (error, text) in own { texts[Int32(error.rawValue)] = text }
        return texts
    }
}
