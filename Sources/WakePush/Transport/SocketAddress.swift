import CLinux

/// Where to connect: one address of a host, ready for connect(2).
struct SocketAddress: Sendable, CustomStringConvertible, CustomReflectable {
    private let address: linux_address

    /// Addresses of `host`, a name or a numeric address. Blocks on the name service.
    static func resolve(_ host: String, port: UInt16) -> Result<[SocketAddress], PushFailure> {
        var found = [linux_address](repeating: linux_address(), count: 16)
        let count = unsafe found.withUnsafeMutableBufferPointer { buffer -> Int32 in
            guard let base = buffer.baseAddress else { return 0 }
            return unsafe linux_resolve(host, port, base, Int32(buffer.count))
        }
        guard count > 0 else {
            // getaddrinfo(3): EAI_NONAME (2), EAI_NODATA (5); others may pass.
            return .failure(count == -2 || count == -5 ? .unknownHost : .unreachable)
        }
        return .success(found[..<Int(count)].map(SocketAddress.init(address:)))
    }

    private init(address: linux_address) { self.address = address }

    /// A socket that is connecting, or a number below 0.
    func connect() -> Int32 {
        var copy = address
        return unsafe linux_connect_begin(&copy)
    }

    var description: String { "SocketAddress" }
    var customMirror: Mirror { Mirror(self, children: [:]) }
}
