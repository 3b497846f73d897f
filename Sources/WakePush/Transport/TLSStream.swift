import CRuntime

/// TLS over TCP: at least 1.2, HTTP/2 negotiated, the server's certificate verified for its name.
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
            let connection = unsafe crt_ssl_new(
                context.library, context.context, tcp.descriptor, false, host)
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
        if Self.waits(result) { return .waits }
        guard result == 1 else {
            let error = unsafe crt_ssl_verify_result(context.library, connection)
            if error != 0 { return .failed(.connection(.certificate(error))) }
            // A peer that closes may be restarting; one with a wrong answer will repeat it.
            return .failed(result == CRT_SSL_CLOSED.number ? nil : .connection(.handshake))
        }
        // RFC 9113 §3.2: over TLS, HTTP/2 is negotiated.
        guard unsafe crt_ssl_is_h2(context.library, connection) else {
            return .failed(.connection(.noHTTP2))
        }
        isHandshaken = true
        return .open
    }

    func read(into bytes: inout [UInt8]) -> StreamTransfer {
        Self.transfer(unsafe crt_ssl_read(context.library, connection, &bytes, bytes.count))
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
        result > 0 ? .moved(Int(result)) : waits(result) ? .waits : .ended
    }

    private static func waits(_ result: Int32) -> Bool {
        result == CRT_SSL_WANTS_READ.number || result == CRT_SSL_WANTS_WRITE.number
    }

    func close() {
        guard !isClosed else { return }
        isClosed = true
        // SSL_shutdown(3): only after the handshake.
        if isHandshaken { unsafe crt_ssl_shutdown(context.library, connection) }
        tcp.close()
    }
}

/// OpenSSL and the trusted authorities, shared by the TLS connections of an engine.
@safe
final class TLSContext: Sendable {
    let library: crt_ssl
    /// The address as a number: pointers are not `Sendable`; used by every thread once set up.
    private let address: UInt

    /// - Parameter authorityFile: certificates (PEM) to trust instead of the system's.
    init(authorityFile: String?, libraryName: String? = nil) throws(PushEngineError) {
        var library = unsafe crt_ssl(table: nil)
        let status = unsafe crt_ssl_load(libraryName, &library)
        guard status == CRT_LOADED else {
            throw .libraryMissing(package: "libssl3", isIncomplete: status == CRT_FUNCTION_MISSING)
        }
        guard let context = unsafe crt_ssl_context_new(library, false) else {
            throw .refused(.last)
        }
        let isTrusting = unsafe crt_ssl_context_trust(library, context, authorityFile)
        let reason = OpenSSLReason.last
        unsafe self.library = unsafe library
        address = UInt(bitPattern: context)
        guard isTrusting else { throw .authorityFile(reason) }
    }

    deinit { unsafe crt_ssl_context_free(library, context) }

    var context: UnsafeMutableRawPointer {
        guard let context = unsafe UnsafeMutableRawPointer(bitPattern: address) else {
            preconditionFailure("memory is never at address 0")
        }
        return unsafe context
    }
}

extension crt_ssl_result {
    fileprivate var number: Int32 { Int32(rawValue) }
}
