package import Synchronization

/// What a server counted since it started; read from any thread. Nothing in it is about a client.
package final class HTTPCounters: Sendable {
    /// Connections accepted, including those refused at a cap.
    package let accepted = Atomic<Int>(0)
    /// Connections open now, event streams included.
    package let open = Atomic<Int>(0)
    /// Complete requests given to a handler.
    package let requests = Atomic<Int>(0)
    /// Refusals by the server itself with a status of 400 to 499.
    package let refusedByClientError = Atomic<Int>(0)
    /// Refusals by the server itself with a status of 500 to 599: unknown methods and versions,
    /// caps.
    package let refusedByServerError = Atomic<Int>(0)
    /// Event streams open now.
    package let streams = Atomic<Int>(0)
    /// Connections ended by the server because the far end was too slow, or for want of
    /// descriptors.
    package let dropped = Atomic<Int>(0)

    package init() {}
}
