internal import WakeModel

/// What a push service issued for this app instance. Prints as nothing but its kind of thing.
public struct PushToken: Sendable, Equatable {
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

    /// Why bytes are no push token.
    public enum Fault: Error, Sendable, Equatable {
        /// Longer than the service stores.
        case tooLong
        /// Not of the form that the push service issues.
        case malformed
    }

    let wire: WakeModel.PushToken

    /// The token as text: hexadecimal for Apple, the characters themselves for Google, the
    /// endpoint's https URL for Web Push.
    public init(_ service: Service, text: [UInt8]) throws(Fault) {
        guard let kind = PushService(word: Array(service.rawValue.utf8).span) else {
            throw .malformed
        }
        do {
            wire = try WakeModel.PushToken(service: kind, text: text.span)
        } catch {
            throw error == .tooLong ? .tooLong : .malformed
        }
    }

    /// Which push service issued it.
    public var service: Service {
        switch wire.service {
        case .apns: .apns
        case .apnsSandbox: .apnsSandbox
        case .fcm: .fcm
        case .webPush: .webPush
        }
    }

    init(_ wire: WakeModel.PushToken) {
        self.wire = wire
    }

    /// The text as given, for showing to the person it belongs to.
    public func text() -> [UInt8] { wire.text().copy() }
}

extension PushToken: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Never the token.
    public var description: String { "(push token)" }
    /// Never the token.
    public var debugDescription: String { description }
    /// Never the token.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
