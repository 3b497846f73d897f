import CRuntime

/// TLS over TCP: at least 1.2, HTTP/2 agreed upon, the server's certificate verified for its name.
@safe
final class TLSStream: ByteStream {
    private let tcp: PlainStream
    private let context: TLSContext
    private let connection: UnsafeMutableRawPointer
    private var isHandshaken = false
    private var isClosed = false

    /// Begins to connect. Nil when the address or the name is unusable.
    init?(to address: SocketAddress, host: String, context: TLSContext) {
        guard let tcp = PlainStream(to: address),
            let connection = unsafe host.withCString({
                unsafe crt_ssl_new(context.library, context.context, tcp.descriptor, false, $0)
            })
        else { return nil }
        self.tcp = tcp
        self.context = context
        unsafe self.connection = unsafe connection
    }

    deinit { unsafe crt_ssl_free(context.library, connection) }

    var descriptor: Int32 { tcp.descriptor }

    func open() -> StreamOpening {
        if isHandshaken { return .open }
        let below = tcp.open()
        guard below == .open else { return below }
        let result = unsafe crt_ssl_handshake(context.library, connection)
        if result == CRT_SSL_WANTS_READ.number || result == CRT_SSL_WANTS_WRITE.number {
            return .waits
        }
        guard result == 1 else {
            let verdict = unsafe crt_ssl_verify_result(context.library, connection)
            if verdict != 0 { return .failed(.certificate(verdict)) }
            // A peer that hung up may be restarting; one that answered wrongly will again.
            return .failed(result == CRT_SSL_CLOSED.number ? nil : .handshake)
        }
        // RFC 9113 §3.2: over TLS, HTTP/2 is agreed upon, never assumed.
        guard unsafe crt_ssl_is_h2(context.library, connection) else { return .failed(.noHTTP2) }
        isHandshaken = true
        return .open
    }

    func read(into bytes: inout [UInt8]) -> StreamTransfer {
        let result = unsafe bytes.withUnsafeMutableBytes { buffer -> Int32 in
            guard let base = buffer.baseAddress else { return 0 }
            return unsafe crt_ssl_read(context.library, connection, base, buffer.count)
        }
        return Self.transfer(result)
    }

    func write(_ bytes: [UInt8], from offset: Int) -> StreamTransfer {
        let result = unsafe bytes.withUnsafeBytes { buffer -> Int32 in
            guard let base = buffer.baseAddress else { return 0 }
            return unsafe crt_ssl_write(
                context.library, connection, base + offset, buffer.count - offset)
        }
        return Self.transfer(result)
    }

    func flush() -> StreamTransfer? {
        let result = unsafe crt_ssl_flush(context.library, connection)
        return result == 1 ? nil : Self.transfer(result)
    }

    private static func transfer(_ result: Int32) -> StreamTransfer {
        if result > 0 { return .moved(Int(result)) }
        let waits =
            result == CRT_SSL_WANTS_READ.number || result == CRT_SSL_WANTS_WRITE.number
        return waits ? .waits : .ended
    }

    func close() {
        guard !isClosed else { return }
        isClosed = true
        // SSL_shutdown(3): not on a connection that never was.
        if isHandshaken { unsafe crt_ssl_shutdown(context.library, connection) }
        tcp.close()
    }
}

extension crt_ssl_result {
    fileprivate var number: Int32 { Int32(rawValue) }
}
