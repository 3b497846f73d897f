/// How a client with a `DataSource` of the app's own lives. Profiles share nothing: give each its
/// own directory.
public struct SourceConfiguration: Sendable {
    /// A directory for this profile alone; made with mode 0700 when it is not there.
    public var stateDirectory: String
    /// The service's address, without path; nil when nothing but polling and the app wakes.
    public var service: String?
    /// How the client learns that it should look.
    public var channel: ClientConfiguration.Channel
    /// The only way out to the service, when set. What the source fetches is the source's own.
    public var proxy: ClientConfiguration.Proxy?
    /// The mean time between two looks; 15 minutes to 24 hours, whatever is asked for.
    public var pollInterval: Duration
    /// How long a client waits at most, at random, after a wake that comes to all at once; up to an
    /// hour.
    public var spread: Duration
    /// How long a match that was told is remembered after the source last brought it. Brought later
    /// than that, it is told again.
    public var retention: Duration
    /// How long one call of the source may take.
    public var timeLimit: Duration

    /// A configuration; nothing is checked before `WakeClient` takes it.
    public init(
        stateDirectory: String, service: String? = nil,
        channel: ClientConfiguration.Channel = .poll, proxy: ClientConfiguration.Proxy? = nil,
        pollInterval: Duration = .seconds(4 * 3600), spread: Duration = .seconds(300),
        retention: Duration = .seconds(14 * 86_400), timeLimit: Duration = .seconds(600)
    ) {
        self.stateDirectory = stateDirectory
        self.service = service
        self.channel = channel
        self.proxy = proxy
        self.pollInterval = pollInterval
        self.spread = spread
        self.retention = retention
        self.timeLimit = timeLimit
    }
}

extension SourceConfiguration: CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    /// Says nothing of addresses.
    public var description: String { "(source configuration)" }
    /// Says nothing of addresses.
    public var debugDescription: String { description }
    /// Shows nothing of addresses.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
