import CLinux
private import Glibc
import WakeSystem

struct BusSocket: ~Copyable {
    enum Transfer {
        case moved(Int)
        case blocked
        case ended
    }

    private let descriptor: Descriptor

    /// Blocks for at most `milliseconds`; `poller` then reports every change.
    init(_ address: BusAddress, milliseconds: UInt32, poller: borrowing Poller) throws(BusError) {
        let name = address.socketName
        let result = unsafe linux_connect_unix(name, name.count, milliseconds)
        guard result >= 0 else { throw .unreachable(-result) }
        let descriptor = Descriptor(owning: result)
        guard poller.add(result, .edges, token: 0) else { throw .system(ENOMEM) }
        self.descriptor = descriptor
    }

    /// recv(2) without room for ancillary data: the kernel closes descriptors that a peer sends.
    func receive(into bytes: inout [UInt8]) -> Transfer {
        let result = unsafe bytes.withUnsafeMutableBytes { buffer in
            unsafe linux_receive(descriptor.number, buffer.baseAddress, buffer.count)
        }
        return result == 0 ? .ended : Self.transfer(result)
    }

    func send(_ bytes: [UInt8], from offset: Int) -> Transfer {
        let result = unsafe bytes.withUnsafeBytes { buffer in
            let rest = unsafe UnsafeRawBufferPointer(rebasing: buffer[offset...])
            return unsafe linux_send(descriptor.number, rest.baseAddress, rest.count, false)
        }
        return Self.transfer(result)
    }

    private static func transfer(_ result: Int) -> Transfer {
        if result >= 0 { return .moved(result) }
        return Int32(-result) == EAGAIN ? .blocked : .ended
    }
}
