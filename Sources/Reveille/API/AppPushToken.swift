public import FoundationEssentials
internal import WakeModel
public import WakeSystem

/// The token that a push service issued for this app instance.
public struct AppPushToken: Sendable, Equatable, Redacted {
    /// The push services that the service knows.
    public enum Service: String, Sendable, CaseIterable {
        /// Apple, production.
        case apns
        /// Apple, development builds.
        case apnsSandbox = "apns-sandbox"
        /// Google.
        case fcm
        /// Web Push and UnifiedPush.
        case webPush = "webpush"
    }

    /// A fault of a text that is no push token.
    public enum Fault: Error, Sendable, Equatable {
        /// Longer than the service stores.
        case tooLong
        /// Not of the form that the push service issues.
        case malformed

        init(_ error: PushTokenError) { self = error == .tooLong ? .tooLong : .malformed }
    }

    let wire: PushToken

    /// The token as text: hexadecimal for Apple, as it is for Google, an https URL for Web Push.
    public init(_ service: Service, text: [UInt8]) throws(Fault) {
        let name = Array(service.rawValue.utf8)
        guard let kind = PushService(name: name.span) else { throw .malformed }
        wire = try mapError(Fault.init, try PushToken(service: kind, text: text.span))
    }

    /// The same from a `String`.
    public init(_ service: Service, text: String) throws(Fault) {
        try self.init(service, text: Array(text.utf8))
    }

    /// A Web Push endpoint with the keys of its subscription, in base64url as
    /// `PushSubscription.toJSON()` has them: what is sent to it is encrypted (RFC 8291).
    public init(endpoint: [UInt8], p256dh: [UInt8], auth: [UInt8]) throws(Fault) {
        wire = try mapError(Fault.init) { () throws(PushTokenError) in
            let keys = try SubscriptionKeys(p256dh: p256dh.span, auth: auth.span)
            return try PushToken(endpoint: endpoint.span, keys: keys)
        }
    }

    /// The same from `String`s.
    public init(endpoint: String, p256dh: String, auth: String) throws(Fault) {
        try self.init(
            endpoint: Array(endpoint.utf8), p256dh: Array(p256dh.utf8), auth: Array(auth.utf8))
    }

    /// The push service that issued it.
    public var service: Service {
        switch wire.service {
        case .apns: .apns
        case .apnsSandbox: .apnsSandbox
        case .fcm: .fcm
        case .webPush: .webPush
        }
    }

    init(_ wire: PushToken) { self.wire = wire }

    /// The text as given, for showing to the person it belongs to.
    public func text() -> [UInt8] { wire.text().copy() }
}

/// A copy of everything that the service holds under this client's instance token, raw and decoded.
public struct HeldRegistration: Sendable, Equatable {
    /// One of the service's two pairs of table and keys.
    public enum Generation: String, Sendable {
        /// Takes every new registration.
        case current
        /// Destroyed by the next rotation unless renewed.
        case previous
    }

    /// One row.
    public struct Row: Sendable, Equatable, Redacted {
        /// The generation that holds the row.
        public let generation: Generation
        /// The id column, 32 bytes.
        public let id: [UInt8]
        /// The sealed column, 632 bytes.
        public let sealed: [UInt8]
        /// The decrypted content of the sealed column.
        public let token: AppPushToken
    }

    /// nil when the service holds nothing.
    public let row: Row?
    /// Hexadecimal hash of the service's privacy policy in force.
    public let policyHash: String

    init(_ answer: RegistrationResponse) {
        row = answer.stored.map { stored in
            Row(
                generation: stored.generation == .current ? .current : .previous, id: stored.id,
                sealed: stored.sealed, token: AppPushToken(stored.token))
        }
        policyHash = answer.policyHash
    }
}

extension AppPushToken.Fault: LocalizedError {
    /// What failed: a sentence in English.
    public var errorDescription: String? { phrase.asSentence }

    /// The same in lower case and without the full stop.
    package var phrase: String {
        switch self {
        case .tooLong: "the push token is longer than 588 bytes"
        case .malformed: "the push token is not of the form its service issues"
        }
    }

    /// Of `enum reveille_error` in reveille.h.
    package var number: Int32 { self == .tooLong ? 83 : 84 }
}
