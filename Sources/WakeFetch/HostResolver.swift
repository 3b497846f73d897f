/// Turns a host name into addresses: the system's resolver, or one of a test.
package protocol HostResolver: Sendable {
    /// All addresses of `host`, which is a DNS name in ASCII, in the order in which to try them:
    /// at least one, none twice.
    func addresses(of host: [UInt8]) async throws(ResolveError) -> [IPAddress]
}

/// Why a name has no addresses. Never holds the name.
package enum ResolveError: Error, Sendable, Hashable {
    /// Not a DNS name: an address in any writing, or bytes that no name has.
    case notAName
    /// There is no such name, or it has no address.
    case notFound
    /// No answer within the time limit.
    case timedOut
    /// The name server failed, or there are too many lookups; another time it may be well.
    case temporarily
    /// The task was cancelled.
    case cancelled
}
