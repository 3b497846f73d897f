/// What one host has seen.
final class PushHost {
    /// From 1, in the order they were first asked for.
    let number: Int
    let inFlight = InFlightCounter()
    var requests = 0
    var delivered = 0
    var duplicates = 0
    /// Connections that fell silent in the handshake.
    var silenced = 0
    var endpoints: Set<[UInt8]> = []
    var connections: Set<Int> = []
    /// Distinct values of `authorization`.
    var credentials: Set<String> = []

    init(number: Int) { self.number = number }

    var json: String {
        let members = [
            ("requests", requests), ("delivered", delivered), ("duplicates", duplicates),
            ("endpoints", endpoints.count), ("connections", connections.count),
            ("credentials", credentials.count), ("mostAtOnce", inFlight.most),
            ("silenced", silenced),
        ]
        return Counters.object(members.map { ($0.0, "\($0.1)") })
    }
}
