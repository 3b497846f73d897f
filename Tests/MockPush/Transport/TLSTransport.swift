import CLinux
import CRuntime

/// TLS on top of the socket, as the server.
@safe
final class TLSTransport: ByteTransport {
    private let descriptor: Int32
    private let library: crt_ssl
    private let connection: UnsafeMutableRawPointer
    private(set) var isReady = false
    private var failure = TransportOutcome.wouldBlock

    /// nil when out of memory.
    init?(_ descriptor: Int32, _ library: crt_ssl, context: UnsafeMutableRawPointer) {
        guard let connection = unsafe crt_ssl_new(library, context, descriptor, true, nil) else {
            return nil
        }
        self.descriptor = descriptor
        unsafe self.library = unsafe library
        unsafe self.connection = unsafe connection
    }

    deinit { unsafe crt_ssl_free(library, connection) }

    func receive(into buffer: inout [UInt8], from start: Int) -> TransportOutcome {
        guard isReady || shakeHands() else { return failure }
        return outcome(
            unsafe buffer.withUnsafeMutableBytes { bytes -> Int32 in
                guard let base = bytes.baseAddress, start < bytes.count else { return 0 }
                return unsafe crt_ssl_read(library, connection, base + start, bytes.count - start)
            })
    }

    func send(_ bytes: Span<UInt8>) -> TransportOutcome {
        guard isReady || shakeHands() else { return failure }
        return outcome(
            unsafe bytes.withUnsafeBytes { bytes -> Int32 in
                guard let start = bytes.baseAddress else { return 0 }
                return unsafe crt_ssl_write(library, connection, start, bytes.count)
            })
    }

    func finish() {
        unsafe crt_ssl_shutdown(library, connection)
        _ = linux_shutdown_send(descriptor)
    }

    private func shakeHands() -> Bool {
        let result = unsafe crt_ssl_handshake(library, connection)
        isReady = result == 1
        if !isReady { failure = outcome(result) }
        return isReady
    }

    private func outcome(_ result: Int32) -> TransportOutcome {
        if result > 0 { return .count(Int(result)) }
        return switch crt_ssl_result(rawValue: result) {
        case CRT_SSL_WANTS_READ, CRT_SSL_WANTS_WRITE: .wouldBlock
        default: .closed
        }
    }
}

/// The certificate of the mock, loaded once.
@safe
final class TLSServerSettings {
    private let library: crt_ssl
    private let context: UnsafeMutableRawPointer

    /// nil when the mock is to speak without TLS.
    init?(_ endpoint: Endpoint) throws {
        guard let (certificate, key) = endpoint.identity else { return nil }
        var library = unsafe crt_ssl(table: nil)
        guard unsafe crt_ssl_load(nil, &library) == CRT_LOADED,
            let context = unsafe crt_ssl_context_new(library, true)
        else { throw MockFailure("cannot load libssl.so.3; install the package libssl3") }
        unsafe self.library = unsafe library
        unsafe self.context = unsafe context
        guard unsafe crt_ssl_context_identify(library, context, certificate, key) else {
            throw MockFailure("cannot use \(certificate) with \(key)")
        }
        if endpoint.selectsHTTP2 { unsafe crt_ssl_context_select_h2(library, context, false) }
    }

    deinit { unsafe crt_ssl_context_free(library, context) }

    func accept(_ descriptor: Int32) -> (any ByteTransport)? {
        unsafe TLSTransport(descriptor, library, context: context)
    }
}
