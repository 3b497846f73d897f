import CLinux
import CRuntime
import Glibc

/// One accepted connection's bytes, over TLS or not.
@safe
final class PeerStream {
    enum Outcome: Equatable {
        case count(Int)
        case waits
        case ended
    }

    let descriptor: Int32
    private let settings: PeerTLS?
    private let connection: UnsafeMutableRawPointer?
    private var isHandshaken = false

    /// Nil when out of memory.
    init?(_ descriptor: Int32, _ settings: PeerTLS?) {
        self.descriptor = descriptor
        self.settings = settings
        guard let settings else {
            unsafe connection = nil
            return
        }
        unsafe connection = settings.accept(descriptor)
        if unsafe connection == nil { return nil }
    }

    deinit {
        if let settings, let connection = unsafe connection {
            unsafe crt_ssl_free(settings.library, connection)
        }
        close(descriptor)
    }

    /// Reads what is there into `bytes`, from `start` on.
    func read(into bytes: inout [UInt8], from start: Int) -> Outcome {
        if let outcome = shakeHands() { return outcome }
        return unsafe bytes.withUnsafeMutableBytes { bytes -> Outcome in
            guard let base = bytes.baseAddress, start < bytes.count else { return .ended }
            let (place, room) = unsafe (base + start, bytes.count - start)
            guard let settings, let connection = unsafe connection else {
                return Self.outcome(unsafe linux_receive(descriptor, place, room))
            }
            return Self.outcome(unsafe crt_ssl_read(settings.library, connection, place, room))
        }
    }

    func write(_ bytes: [UInt8], from start: Int) -> Outcome {
        if let outcome = shakeHands() { return outcome }
        return unsafe bytes.withUnsafeBytes { bytes -> Outcome in
            guard let base = bytes.baseAddress, start < bytes.count else { return .count(0) }
            let (place, rest) = unsafe (base + start, bytes.count - start)
            guard let settings, let connection = unsafe connection else {
                return Self.outcome(unsafe linux_send(descriptor, place, rest, false))
            }
            return Self.outcome(unsafe crt_ssl_write(settings.library, connection, place, rest))
        }
    }

    /// - Returns: nil once that is done.
    private func shakeHands() -> Outcome? {
        guard !isHandshaken, let settings, let connection = unsafe connection else { return nil }
        let result = unsafe crt_ssl_handshake(settings.library, connection)
        isHandshaken = result == 1
        return isHandshaken ? nil : Self.outcome(result)
    }

    private static func outcome(_ count: Int) -> Outcome {
        if count > 0 { return .count(count) }
        return count == -Int(EAGAIN) ? .waits : .ended
    }

    private static func outcome(_ result: Int32) -> Outcome {
        if result > 0 { return .count(Int(result)) }
        return switch crt_ssl_result(rawValue: result) {
        case CRT_SSL_WANTS_READ, CRT_SSL_WANTS_WRITE: .waits
        default: .ended
        }
    }
}

/// A server's certificate, loaded once.
@safe
final class PeerTLS {
    let library: crt_ssl
    private let context: UnsafeMutableRawPointer

    /// Nil when libssl is missing or the files are of no use.
    init?(certificate: String, key: String) {
        var library = unsafe crt_ssl(table: nil)
        guard unsafe crt_ssl_load(nil, &library) == CRT_LOADED,
            let context = unsafe crt_ssl_context_new(library, true)
        else { return nil }
        unsafe self.library = unsafe library
        unsafe self.context = unsafe context
        guard unsafe crt_ssl_context_identify(library, context, certificate, key) else {
            return nil
        }
        unsafe crt_ssl_context_select_h2(library, context, true)
    }

    deinit { unsafe crt_ssl_context_free(library, context) }

    fileprivate func accept(_ descriptor: Int32) -> UnsafeMutableRawPointer? {
        unsafe crt_ssl_new(library, context, descriptor, true, nil)
    }
}
