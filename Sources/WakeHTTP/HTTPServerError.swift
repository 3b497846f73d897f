/// Why a server could not listen. Numbers are the system's error numbers (errno).
package enum HTTPServerError: Error, Equatable {
    /// The host or port of a TCP listener, counted from 0, cannot be bound.
    case cannotListen(listener: Int, errno: Int32)
    /// Somebody is already listening there.
    case addressInUse(listener: Int)
    /// The kernel gave no epoll, eventfd or random bytes.
    case noEventLoop(errno: Int32)
}
