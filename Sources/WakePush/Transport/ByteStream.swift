import CLinux
private import Glibc
import WakeSystem

/// An ordered stream of bytes to one peer that never blocks; used by one thread.
protocol ByteStream: AnyObject {
    var descriptor: Int32 { get }

    /// Continues to open; to be called again after each event until it returns `.open`.
    func open() -> StreamOpening
    func read(into bytes: inout [UInt8]) -> StreamTransfer
    /// Sends some of `bytes`, from `offset` on.
    func write(_ bytes: [UInt8], from offset: Int) -> StreamTransfer
    /// Sends what `write` buffered: `.waits`, `.ended`, or nil when done.
    func flush() -> StreamTransfer?
    func close()
}

enum StreamOpening: Equatable {
    case open
    case waits
    /// nil: another attempt may succeed.
    case failed(PushFailure?)
}

enum StreamTransfer: Equatable {
    case moved(Int)
    case waits
    case ended
}

/// TCP alone: for tests, and behind a proxy that adds TLS.
final class PlainStream: ByteStream {
    let descriptor: Int32
    private var isConnected = false
    private var isClosed = false

    /// Begins to connect. Nil when the address is unusable.
    init?(to address: SocketAddress) {
        descriptor = address.connect()
        if descriptor < 0 { return nil }
    }

    deinit { close() }

    func open() -> StreamOpening {
        if isConnected { return .open }
        guard linux_connect_result(descriptor) == 0 else { return .failed(nil) }
        isConnected = true
        return .open
    }

    func read(into bytes: inout [UInt8]) -> StreamTransfer {
        Self.transfer(unsafe linux_receive(descriptor, &bytes, bytes.count), zero: .ended)
    }

    func write(_ bytes: [UInt8], from offset: Int) -> StreamTransfer {
        let result = unsafe bytes.withUnsafeBytes { buffer in
            let rest = unsafe UnsafeRawBufferPointer(rebasing: buffer[offset...])
            return unsafe linux_send(descriptor, rest.baseAddress, rest.count, false)
        }
        return Self.transfer(result, zero: .waits)
    }

    func flush() -> StreamTransfer? { nil }

    private static func transfer(_ result: Int, zero: StreamTransfer) -> StreamTransfer {
        if result > 0 { return .moved(result) }
        if result == 0 { return zero }
        let number = Int32(-result)
        return number == EAGAIN || number == EINTR ? .waits : .ended
    }

    func close() {
        guard !isClosed else { return }
        isClosed = true
        _ = Glibc.close(descriptor)
    }
}

/// One address of a host, ready for connect(2).
struct SocketAddress: Sendable, Redacted {
    private let address: linux_address

    /// The addresses of `host`, a name or a numeric address. Blocks on the name service.
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
}
