package import WakeModel
import WakeSystem

/// The maker of a host of Web Push, by its name: each has rules of its own. In lower case; `*.` is
/// before a name for every name below it.
package enum PushHostKind: Int, Sendable, CaseIterable {
    case apple, mozilla, google, microsoft, other

    /// - Parameter name: the host of a ``PushEndpoint``, in lower case.
    init(name: [UInt8]) {
        self = Self.rules.first { $0.rules.admits(name) }?.kind ?? .other
    }

    /// - Returns: nil for a push token of another push service.
    package init?(_ token: PushToken) {
        guard token.service == .webPush else { return nil }
        self = token.endpointHost.map(Self.init(name:)) ?? .other
    }

    package var name: StaticString {
        switch self {
        case .apple: "apple"
        case .mozilla: "mozilla"
        case .google: "google"
        case .microsoft: "microsoft"
        case .other: "other"
        }
    }

    /// Whether it is a browser's, where a body must be encrypted (RFC 8291) and every push has to
    /// be followed by a notification that people see.
    package var isBrowser: Bool { self != .other }

    /// The hosts of browsers among `hosts = known`.
    static let browsers = allCases.flatMap(\.hosts)
    /// Those of UnifiedPush, where a body is anything of 1 to 4096 bytes: ntfy, and Conversations.
    static let unifiedPush = ["ntfy.sh", "up.conversations.im"]

    static func isUnifiedPush(_ name: [UInt8]) -> Bool {
        unifiedPush.contains { name.elementsEqual($0.utf8) }
    }

    private static let rules = allCases.filter(\.isBrowser).map {
        (kind: $0, rules: PushHostRules($0.hosts))
    }

    private var hosts: [String] {
        switch self {
        case .apple: ["web.push.apple.com", "*.push.apple.com"]
        // Firefox, and Sunup of UnifiedPush.
        case .mozilla: ["updates.push.services.mozilla.com", "*.push.services.mozilla.com"]
        // Chrome and what is built on it; Chromium without Google's keys.
        case .google: ["fcm.googleapis.com", "jmt17.google.com"]
        case .microsoft: ["*.notify.windows.com"]
        case .other: []
        }
    }
}

/// The reason why an endpoint may not be registered.
package enum EndpointRefusal: Sendable, Equatable {
    /// Its host is not one that wake-ups may be sent to.
    case hostNotAllowed
    /// Apple refuses wake-ups of a sender without a `subject`.
    case subjectMissing
    /// Its host is a known one, which gives out none that are spelled so.
    case spellingForeign
    /// Its key is no point of P-256.
    case keyMalformed
}
