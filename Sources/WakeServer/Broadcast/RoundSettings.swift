/// How a round goes about its work.
struct RoundSettings: Sendable {
    /// Seconds a push service keeps a wake-up for a device that is off: about until the next.
    var lifetime = 7200
    /// "Gone" of 1,000 answers that are believed, see ``Brake``.
    var brakePerMille = 50
    /// What lets pushes leave; nil: as fast as the gateways take them.
    var pace: Pace?
    /// For what is in flight when the program stops.
    var landing = Duration.seconds(3)

    /// Between two looks at what is to do: often enough that a pace is even and that little is in
    /// flight at once.
    var tick: Duration { pace == nil ? .milliseconds(50) : .milliseconds(2) }
}
