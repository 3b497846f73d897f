/// How a round goes about its work.
struct RoundSettings: Sendable {
    /// Seconds a push service keeps a wake-up for a device that is off: about until the next.
    var lifetime = 7200
    /// "Gone" of 1,000 answers that are believed, see ``Brake``.
    var brakePerMille = 50
    /// What lets pushes leave; nil: as fast as the gateways take them.
    private(set) var pace: Pace?
    /// For what is in flight when the program stops.
    var landing = Duration.seconds(3)

    /// Between two looks at what is to do.
    private(set) var tick = Duration.milliseconds(Pace.burstMilliseconds)

    /// Lets no more than so many pushes leave, 1 or more, over so many seconds.
    mutating func limit(pushes: Int, over seconds: Int) {
        pace = Pace(pushes: pushes, over: seconds)
        // Few at a time: the pace is even, and little is in flight at once. But a look costs as
        // much as some pushes.
        let milliseconds = 8000 * seconds / pushes
        tick = .milliseconds(max(2, min(milliseconds, Pace.burstMilliseconds)))
    }
}
