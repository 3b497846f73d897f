package import WakeFetch

/// What the client needs of the world, so that tests can live weeks in milliseconds: a network, two
/// clocks, sleep, and randomness.
public struct ClientEnvironment: Sendable {
    /// Makes the carrier of requests.
    package var transport: @Sendable (FetchConfiguration) throws(FetchError) -> any ClientTransport
    /// Seconds since 1970; may jump.
    package var wallSeconds: @Sendable () -> Int64
    /// Time that only grows, also while the machine sleeps.
    package var uptime: @Sendable () -> Duration
    /// Returns early when its task is cancelled.
    package var sleep: @Sendable (Duration) async -> Void
    /// Evenly in [0, 1).
    package var randomUnit: @Sendable () -> Double
    /// Fit for secrets.
    package var randomBytes: @Sendable (Int) -> [UInt8]
    /// What the client runs on.
    package var executor: @Sendable () -> any SerialExecutor
    /// Where tests let the process die; nil in life.
    package var faultPoint: (@Sendable (StatePoint) throws(InjectedFault) -> Void)?
    /// Takes what is logged.
    public var log: @Sendable (ClientEvent) -> Void

    package init(
        transport:
            @escaping @Sendable (FetchConfiguration) throws(FetchError)
            -> any ClientTransport,
        wallSeconds: @escaping @Sendable () -> Int64,
        uptime: @escaping @Sendable () -> Duration,
        sleep: @escaping @Sendable (Duration) async -> Void,
        randomUnit: @escaping @Sendable () -> Double,
        randomBytes: @escaping @Sendable (Int) -> [UInt8],
        executor: @escaping @Sendable () -> any SerialExecutor,
        faultPoint: (@Sendable (StatePoint) throws(InjectedFault) -> Void)? = nil,
        log: @escaping @Sendable (ClientEvent) -> Void = { _ in }
    ) {
        self.transport = transport
        self.wallSeconds = wallSeconds
        self.uptime = uptime
        self.sleep = sleep
        self.randomUnit = randomUnit
        self.randomBytes = randomBytes
        self.executor = executor
        self.faultPoint = faultPoint
        self.log = log
    }
}
