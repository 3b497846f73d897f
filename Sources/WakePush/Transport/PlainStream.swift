import CLinux
private import Glibc

/// TCP as it is: for tests, and behind a proxy that speaks TLS.
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
        let result = unsafe bytes.withUnsafeMutableBytes { buffer in
            unsafe linux_receive(descriptor, buffer.baseAddress, buffer.count)
        }
        return Self.transfer(result, zero: .ended)
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
