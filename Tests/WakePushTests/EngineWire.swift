import CRuntime
import Glibc

@testable import WakePush

/// The server's side of a transport; blocking.
@safe
final class EngineWire {
    private let socket: Int32
    private var library: crt_ssl?
    private var connection: UnsafeMutableRawPointer?

    init?(_ socket: Int32, _ tls: EngineServer.TLS?) {
        self.socket = socket
        guard let tls else { return }
        if tls.isNarrow {
            var bytes: Int32 = 262_144
            unsafe setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &bytes, 4)
        }
        var library = unsafe crt_ssl(table: nil)
        guard unsafe crt_ssl_load(nil, &library) == CRT_LOADED,
            let context = unsafe crt_ssl_context_new(library, true),
            unsafe crt_ssl_context_identify(library, context, tls.chain, tls.key)
        else { return nil }
        if tls.isOld {
            // openssl/ssl.h: SSL_CTRL_SET_MAX_PROTO_VERSION, TLS1_2_VERSION
            typealias Control =
                @convention(c) (
                    UnsafeMutableRawPointer, Int32, Int, UnsafeMutableRawPointer?
                ) -> Int
            guard let handle = unsafe dlopen("libssl.so.3", RTLD_NOW),
                let symbol = unsafe dlsym(handle, "SSL_CTX_ctrl"),
                unsafe unsafeBitCast(symbol, to: Control.self)(context, 124, 0x0303, nil) == 1
            else { return nil }
        }
        if tls.speaksHTTP2 { unsafe crt_ssl_context_select_h2(library, context, false) }
        unsafe self.connection = unsafe crt_ssl_new(library, context, socket, true, nil)
        unsafe crt_ssl_context_free(library, context)
        unsafe self.library = unsafe library
        guard let connection = unsafe connection,
            unsafe crt_ssl_handshake(library, connection) == 1
        else { return nil }
    }

    deinit {
        if let library = unsafe library, let connection = unsafe connection {
            unsafe crt_ssl_free(library, connection)
        }
    }

    func read() -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: 65_536)
        let count = unsafe bytes.withUnsafeMutableBytes { buffer -> Int in
            guard let base = buffer.baseAddress else { return 0 }
            if let library = unsafe library, let connection = unsafe connection {
                return Int(unsafe crt_ssl_read(library, connection, base, buffer.count))
            }
            return unsafe recv(socket, base, buffer.count, 0)
        }
        return count > 0 ? Array(bytes[..<count]) : nil
    }

    func write(_ bytes: [UInt8]) -> Bool {
        var sent = 0
        while sent < bytes.count {
            let count = unsafe bytes.withUnsafeBytes { buffer -> Int in
                guard let base = buffer.baseAddress else { return 0 }
                let rest = unsafe base + sent
                if let library = unsafe library, let connection = unsafe connection {
                    return Int(
                        unsafe crt_ssl_write(library, connection, rest, buffer.count - sent))
                }
                return unsafe send(
                    socket, rest, buffer.count - sent, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return false }
            sent += count
        }
        return true
    }
}
