/// An ordered stream of bytes to one peer that never blocks. Two exist: plain TCP, and TLS over it.
/// Used by one thread.
protocol ByteStream: AnyObject {
    /// The socket, for whoever waits for events.
    var descriptor: Int32 { get }

    /// Whether bytes can be moved; to be asked again after an event until it says so.
    func open() -> StreamOpening

    /// Fills the front of `bytes`.
    func read(into bytes: inout [UInt8]) -> StreamTransfer

    /// Sends `bytes` from `offset` on, or some of them.
    func write(_ bytes: [UInt8], from offset: Int) -> StreamTransfer

    /// Sends what `write` took and the socket did not.
    /// - Returns: `.waits` or `.ended`; nil when nothing is left.
    func flush() -> StreamTransfer?

    /// Says goodbye where the transport has a word for it, and closes the socket.
    func close()
}

enum StreamOpening: Equatable {
    case open
    /// Not before the next event.
    case waits
    /// Not at all; nil: worth another attempt.
    case failed(PushFailure?)
}

enum StreamTransfer: Equatable {
    /// At least one byte.
    case moved(Int)
    /// Not before the next event.
    case waits
    /// The peer closed, or the transport failed: either way it is over.
    case ended
}
