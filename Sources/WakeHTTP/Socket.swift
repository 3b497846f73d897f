import CLinux
import Glibc

/// The socket calls of the loop as functions of descriptors and arrays.
enum Socket {
    enum Outcome: Equatable {
        case count(Int)
        /// Nothing now; epoll will say when.
        case wouldBlock
        /// The connection is broken.
        case failed
    }

    enum Accepted: ~Copyable {
        case connection(Descriptor, PeerAddress)
        case none
        /// The far end gave up while waiting, or the like: try the next.
        case skip
        /// No descriptors or no memory.
        case exhausted
    }

    /// A listening descriptor, or minus the error number.
    static func listen(host: String, port: UInt16, backlog: Int32) -> Int32 {
        unsafe linux_listen_tcp(host, port, backlog)
    }

    /// Likewise, on a socket file with `mode`.
    static func listen(path: String, mode: mode_t, backlog: Int32) -> Int32 {
        unsafe linux_listen_unix(path, mode, backlog)
    }

    /// Stops listening and removes the socket file, unless a successor has made it its own.
    static func remove(_ path: String, of listener: borrowing Descriptor) {
        unsafe linux_unlink_unix(listener.number, path)
    }

    static func accept(from listener: borrowing Descriptor) -> Accepted {
        var peer = linux_peer()
        let number = unsafe linux_accept(listener.number, &peer)
        if number >= 0 {
            return .connection(Descriptor(owning: number), address(of: peer))
        }
        switch -number {
        case EAGAIN: return .none
        case EMFILE, ENFILE, ENOBUFS, ENOMEM: return .exhausted
        // accept(2): errors of the new connection are passed on and are to be treated like EAGAIN.
        case EINTR, ECONNABORTED, EPROTO, ENETDOWN, ENOPROTOOPT, EHOSTDOWN, ENONET, EHOSTUNREACH,
            EOPNOTSUPP, ENETUNREACH, EPERM:
            return .skip
        default: return .none
        }
    }

    private static func address(of peer: linux_peer) -> PeerAddress {
        guard peer.family != 0 else { return .none }
        var bytes = InlineArray<16, UInt8>(repeating: 0)
        unsafe withUnsafeBytes(of: peer.address) { raw in
            for index in 0..<16 { unsafe bytes[index] = raw[index] }
        }
        return PeerAddress(family: peer.family == 4 ? .version4 : .version6, bytes: bytes)
    }

    /// Reads into the front of `buffer`; a count of 0 is the end of the stream.
    static func receive(from descriptor: Int32, into buffer: inout [UInt8]) -> Outcome {
        let result = unsafe buffer.withUnsafeMutableBytes { bytes in
            unsafe linux_receive(descriptor, bytes.baseAddress, bytes.count)
        }
        return outcome(result)
    }

    /// - Parameter more: a file follows at once and may share the packet.
    static func send(to descriptor: Int32, _ bytes: Span<UInt8>, more: Bool = false) -> Outcome {
        let result = unsafe bytes.withUnsafeBytes { bytes in
            unsafe linux_send(descriptor, bytes.baseAddress, bytes.count, more)
        }
        return outcome(result)
    }

    static func sendFile(
        to descriptor: Int32, _ file: OpenFile, offset: Int64, count: Int
    ) -> Outcome {
        outcome(linux_send_file(descriptor, file.number, offset, count))
    }

    /// Ends our side of the conversation.
    static func endSending(to descriptor: Int32) {
        _ = linux_shutdown_send(descriptor)
    }

    private static func outcome(_ result: Int) -> Outcome {
        if result >= 0 { return .count(result) }
        return result == -Int(EAGAIN) ? .wouldBlock : .failed
    }
}
