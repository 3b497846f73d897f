import CLinux
import CRuntime
import Glibc

enum TransportOutcome: Equatable {
    case count(Int)
    case wouldBlock
    /// The end of the stream, or broken.
    case closed
}

/// The bytes of one connection, encrypted or not.
@safe
final class Transport {
    private let descriptor: Int32
    private let tls: TLSServerSettings?
    private let connection: UnsafeMutableRawPointer?
    /// Bytes can be sent.
    private(set) var isReady: Bool
    private var failure = TransportOutcome.wouldBlock

    /// nil when out of memory.
    init?(_ descriptor: Int32, _ tls: TLSServerSettings?) {
        self.descriptor = descriptor
        self.tls = tls
        isReady = tls == nil
        unsafe connection = tls.flatMap { unsafe $0.accept(descriptor) }
        if tls != nil, unsafe connection == nil { return nil }
    }

    deinit {
        if let tls, let connection = unsafe connection {
            unsafe crt_ssl_free(tls.library, connection)
        }
    }

    /// Reads what fills `buffer` at most.
    func receive(into buffer: inout [UInt8]) -> TransportOutcome {
        guard isReady || shakeHands() else { return failure }
        return unsafe buffer.withUnsafeMutableBytes { bytes in
            guard let base = bytes.baseAddress else { return .closed }
            guard let tls, let connection = unsafe connection else {
                let count = unsafe linux_receive(descriptor, base, bytes.count)
                return count == 0 ? .closed : Self.outcome(count)
            }
            return Self.outcome(
                tls: unsafe crt_ssl_read(tls.library, connection, base, bytes.count))
        }
    }

    func send(_ bytes: Span<UInt8>) -> TransportOutcome {
        guard isReady || shakeHands() else { return failure }
        return unsafe bytes.withUnsafeBytes { bytes in
            guard let tls, let connection = unsafe connection else {
                return Self.outcome(
                    unsafe linux_send(descriptor, bytes.baseAddress, bytes.count, false))
            }
            guard let base = bytes.baseAddress else { return .closed }
            return Self.outcome(
                tls: unsafe crt_ssl_write(tls.library, connection, base, bytes.count))
        }
    }

    /// Nothing more will be sent.
    func finish() {
        if let tls, let connection = unsafe connection {
            unsafe crt_ssl_shutdown(tls.library, connection)
        }
        _ = linux_shutdown_send(descriptor)
    }

    private func shakeHands() -> Bool {
        guard let tls, let connection = unsafe connection else { return true }
        let result = unsafe crt_ssl_handshake(tls.library, connection)
        isReady = result == 1
        if !isReady { failure = Self.outcome(tls: result) }
        return isReady
    }

    private static func outcome(_ count: Int) -> TransportOutcome {
        if count >= 0 { return .count(count) }
        return count == -Int(EAGAIN) ? .wouldBlock : .closed
    }

    private static func outcome(tls result: Int32) -> TransportOutcome {
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
    fileprivate let library: crt_ssl
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

    fileprivate func accept(_ descriptor: Int32) -> UnsafeMutableRawPointer? {
        unsafe crt_ssl_new(library, context, descriptor, true, nil)
    }
}
