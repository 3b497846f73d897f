import CLinux
import Glibc

/// A bound, listening socket; a Unix socket's file goes with it.
final class Listener {
    let configuration: ListenerConfiguration
    let parserLimits: ParserLimits
    let descriptor: Descriptor
    /// Out of descriptors: not accepting for a moment.
    var isPaused = false

    /// Waiting connections the kernel keeps; it cuts this to `net.core.somaxconn`.
    private static let backlog: Int32 = 4_096

    init(
        _ configuration: ListenerConfiguration, limits: HTTPLimits, index: Int
    ) throws(HTTPServerError) {
        self.configuration = configuration
        parserLimits = ParserLimits(
            headBytes: limits.headBytes, fieldCount: limits.fieldCount,
            targetBytes: limits.targetBytes, bodyBytes: configuration.bodyBytes ?? limits.bodyBytes)
        let number: Int32
        switch configuration.address {
        case .tcp(let host, let port):
            number = Socket.listen(host: host, port: port, backlog: Listener.backlog)
        case .unix(let path, let mode):
            number = Socket.listen(path: path, mode: mode, backlog: Listener.backlog)
        }
        guard number >= 0 else {
            throw number == -EADDRINUSE
                ? .addressInUse(listener: index) : .cannotListen(listener: index, errno: -number)
        }
        descriptor = Descriptor(owning: number)
    }

    deinit {
        if case .unix(let path, _) = configuration.address {
            Socket.remove(path, of: descriptor)
        }
    }

    /// The bound TCP port, 0 for a Unix socket.
    var port: UInt16 { UInt16(max(0, linux_bound_port(descriptor.number))) }
}
