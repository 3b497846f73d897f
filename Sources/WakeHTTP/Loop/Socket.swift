import CLinux
import Glibc
import WakeSystem

/// The socket calls of the loop.
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
        /// The client gave up while waiting, or the like: try the next.
        case skip
        /// No descriptors or no memory.
        case exhausted
    }

    static func accept(from listener: Int32) -> Accepted {
        var peer = linux_peer()
        let number = unsafe linux_accept(listener, &peer)
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
        return unsafe withUnsafeBytes(of: peer.address) { raw in
            let high = unsafe UInt64(bigEndian: raw.loadUnaligned(as: UInt64.self))
            let low = unsafe UInt64(
                bigEndian: raw.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
            return peer.family == 4
                ? .version4(UInt32(high >> 32)) : PeerAddress(high: high, low: low)
        }
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
        outcome(linux_send_file(descriptor, file.descriptor, offset, count))
    }

    private static func outcome(_ result: Int) -> Outcome {
        if result >= 0 { return .count(result) }
        return result == -Int(EAGAIN) ? .wouldBlock : .failed
    }
}
