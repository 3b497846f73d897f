/// The words and bounds of the UnifiedPush D-Bus specification, version DBUS_0.3.0
/// (unifiedpush.org/developers/spec/dbus/).
enum UnifiedPush {
    static let distributorPrefix = "org.unifiedpush.Distributor."
    static let distributorPath = "/org/unifiedpush/Distributor"
    static let distributorInterface = "org.unifiedpush.Distributor2"
    static let connectorPath = "/org/unifiedpush/Connector"
    static let connectorInterface = "org.unifiedpush.Connector2"

    /// Bytes of a connection token at most ("Resources").
    static let tokenBytes = 100
    /// Bytes of a registration's description at most ("Resources").
    static let descriptionBytes = 100
    /// Characters of a VAPID key: 65 bytes as base64url ("Resources").
    static let vapidCharacters = 87
    /// Bytes of a message's id that are sent back; the specification has no bound.
    static let messageIDBytes = 256

    /// How long a distributor may take to answer: it asks its push server first.
    static let answerTime = Duration.seconds(60)
    /// How long after its answer the endpoint may come; it is sent at once or not at all.
    static let endpointTime = Duration.seconds(60)
    /// Between two registrations that nothing but a restarted distributor asks for.
    static let restartSpacing = Duration.seconds(1)
    /// Between two wakes: a thousand pushes in a second are two.
    static let wakeSpacing = Duration.seconds(1)
    /// Registrations that fail in a row, or are ended within a day, before somebody is told.
    static let patience = 5
    /// After that, and when only a person can help.
    static let longWait = Duration.seconds(24 * 3600)
    static let personWait = Duration.seconds(3600)
    /// Endpoints in a row that are handed on at once; then one a minute, the newest.
    static let endpointBurst = 5
    static let endpointSpacing = Duration.seconds(60)
}
