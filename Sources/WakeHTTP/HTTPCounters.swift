/// What a server counted since it started; read from any thread. Nothing in it is about a client.
package final class HTTPCounters: Sendable {
    /// Connections accepted, including those refused at a cap.
    package let accepted = Counter()
    /// Connections open now, event streams included.
    package let open = Counter()
    /// Complete requests given to a handler.
    package let requests = Counter()
    /// Refusals by the server itself with a status of 400 to 499.
    package let refusedByClientError = Counter()
    /// Refusals by the server itself with a status of 500 to 599: unknown methods and versions, caps.
    package let refusedByServerError = Counter()
    /// Event streams open now.
    package let streams = Counter()
    /// Connections ended by the server because the far end was too slow, or for want of descriptors.
    package let dropped = Counter()

    package init() {}
}
