/// The hosts of public push services: what `hosts = known` stands for.
enum KnownPushHosts {
    /// Whose push service it is.
    enum Kind: Sendable {
        /// A browser's, where a body must be encrypted (RFC 8291).
        case browser
        /// One of UnifiedPush, where a body may be anything of 1 to 4096 bytes.
        case unifiedPush
    }

    struct Row: Sendable {
        /// A name in lower case, or `*.` and one for every name below it.
        let pattern: StaticString
        let kind: Kind
    }

    static let rows: [Row] = [
        // Chrome and what is built on it; Chromium without Google's keys.
        Row(pattern: "fcm.googleapis.com", kind: .browser),
        Row(pattern: "jmt17.google.com", kind: .browser),
        // Firefox, and Sunup of UnifiedPush.
        Row(pattern: "updates.push.services.mozilla.com", kind: .browser),
        Row(pattern: "*.push.services.mozilla.com", kind: .browser),
        // Safari.
        Row(pattern: "web.push.apple.com", kind: .browser),
        Row(pattern: "*.push.apple.com", kind: .browser),
        // Edge.
        Row(pattern: "*.notify.windows.com", kind: .browser),
        // UnifiedPush: ntfy, and Conversations.
        Row(pattern: "ntfy.sh", kind: .unifiedPush),
        Row(pattern: "up.conversations.im", kind: .unifiedPush),
    ]
}
