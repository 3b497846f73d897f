import CLinux
import Glibc

/// A bound, listening socket; a Unix socket's file goes with it.
final class Listener {
    let configuration: ListenerConfiguration
    let parserLimits: ParserLimits
    let largeBodyPlaces: LargeBodyPlaces?
    /// nil once closed; connections it accepted still ask for its configuration.
    private var descriptor: Descriptor?
    /// Out of descriptors: not accepting for a moment.
    var isPaused = false

    /// Waiting connections the kernel keeps; it cuts this to `net.core.somaxconn`.
    private static let backlog: Int32 = 4_096

    init(
        _ configuration: ListenerConfiguration, limits: HTTPLimits, index: Int
    ) throws(HTTPServerError) {
        self.configuration = configuration
        var parserLimits = ParserLimits(
            headBytes: limits.headBytes, fieldCount: limits.fieldCount,
            targetBytes: limits.targetBytes, bodyBytes: configuration.bodyBytes ?? limits.bodyBytes)
        if let large = configuration.largeBodies {
            parserLimits.largePath = (0..<large.path.count).map { large.path[$0] }
            parserLimits.largeBodyBytes = large.bytes
        }
        self.parserLimits = parserLimits
        largeBodyPlaces = configuration.largeBodies.map { LargeBodyPlaces($0.atOnce) }
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

    deinit { close() }

    /// Turns newcomers away from now on; a Unix socket's file is removed.
    func close() {
        guard let descriptor = descriptor.take() else { return }
        if case .unix(let path, _) = configuration.address {
            Socket.remove(path, of: descriptor.number)
        }
    }

    /// The descriptor's number; -1 once closed.
    var number: Int32 { descriptor?.number ?? -1 }

    /// The bound TCP port, 0 for a Unix socket.
    var port: UInt16 { UInt16(max(0, linux_bound_port(number))) }
}
