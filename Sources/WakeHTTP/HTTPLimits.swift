import WakeModel
import WakeSystem

/// The bounds of the server. Times are seconds, sizes bytes.
package struct HTTPLimits: Sendable {
    package var request = RequestLimits()
    /// From the first byte of a request to the end of its head; then 408.
    package var headSeconds = Limits.headSeconds
    /// From the end of the head to the end of the body; then 408.
    package var bodySeconds = Limits.bodySeconds
    /// A body has one second more for each multiple of this.
    package var bodyBytesPerSecond = 32_768
    /// Without a request, before the first and between two; then closed.
    package var idleSeconds = Limits.idleSeconds
    /// For a handler to answer; then 503.
    package var answerSeconds = 30
    /// Between two chunks of a response, and before the first; then cut.
    package var pauseSeconds = 600
    /// In each such span a client must take `writeFloorBytes` of a waiting answer; else closed.
    package var writeSeconds = 10
    package var writeFloorBytes = 16_384
    /// For the client to read a rejection before the connection is cut (RFC 9112 §9.6).
    package var lingerSeconds = 2
    /// Open connections of a listener, event streams included. Beyond it those that have waited
    /// longest without a complete request, or for a slow reader, make room; without any, 503.
    package var connections = 20_000
    /// Descriptor numbers that a listener without a reserve may use: the kernel gives the lowest
    /// free one (open(2)), so a number tells how many there are. The rest is for everything else.
    package var descriptors = Int.max
    /// Open connections from one address prefix, where it is known; beyond it 503.
    package var connectionsPerSource = 1_000
    /// Open event streams; beyond it 503.
    package var streams = 15_000
    /// Open event streams from one address prefix, where it is known; beyond it 503.
    package var streamsPerSource = 500
    /// Pause between comments on an event stream, by which dead connections are found.
    package var streamKeepAliveSeconds = Limits.keepAliveSeconds
    /// Each keep-alive comes earlier by a random time up to this.
    package var streamKeepAliveJitterSeconds = 60
    /// What `Retry-After` says with a 503.
    package var retryAfterSeconds = 30
    /// After cancellation, for answers in flight.
    package var drainSeconds = 10
    /// Life of one key of the prefix hashes; longer while a connection has a hash under it.
    package var sourceKeySeconds = 600
    /// Requests of one connection handled in a row before others get their turn.
    package var pipelinedRequests = 64

    /// Rejected connections that may linger beyond a cap; more are cut without a response.
    package static let lingeringRejections = 128

    package init() {}
}

/// The bounds that a parser enforces, in bytes and field lines.
package struct RequestLimits: Sendable, Equatable {
    /// Request line and fields together; beyond it 431.
    package var headBytes = Limits.requestHeadBytes
    /// Field lines; beyond it 431.
    package var fieldCount = Limits.requestFields
    /// The request target; beyond it 414.
    package var targetBytes = Limits.requestTargetBytes
    /// The body, unless its path has its own bound; beyond it 413.
    package var bodyBytes = Limits.requestBodyBytes
    /// The path whose POST requests may have larger bodies, and their bound.
    package var largePath: [UInt8] = []
    package var largeBodyBytes = 0

    package init() {}

    func admitting(_ large: BodyMemoryBudget?) -> RequestLimits {
        var limits = self
        if let large { (limits.largePath, limits.largeBodyBytes) = (large.path.bytes, large.bytes) }
        return limits
    }

    /// The bound of a body by method and path.
    func bodyBytes(of method: Method, _ path: Span<UInt8>) -> Int {
        guard method == .post, path.equals(largePath) else { return bodyBytes }
        return max(bodyBytes, largeBodyBytes)
    }
}
