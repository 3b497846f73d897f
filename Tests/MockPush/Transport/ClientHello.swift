import Glibc
import WakeSystem

/// The name that a client of TLS asks for, read before anything is answered (RFC 8446 §4.1.2 and
/// RFC 6066 §3).
enum ClientHello: Equatable {
    case name(String)
    /// It names none, or is no ClientHello.
    case none
    case needMore

    /// Looks at what has arrived on a socket and leaves it there.
    static func peek(_ descriptor: Int32) -> ClientHello {
        var bytes = [UInt8](repeating: 0, count: 16_384)
        let count = unsafe recv(
            descriptor, &bytes, bytes.count, Int32(MSG_PEEK | MSG_DONTWAIT))
        if count < 0 { return errno == EAGAIN ? .needMore : .none }
        if count == 0 { return .none }
        return ClientHello(bytes[..<count])
    }

    /// One record with the whole message: what clients send.
    init(_ bytes: ArraySlice<UInt8>) {
        var rest = bytes
        guard bytes.count >= 5 else {
            self = .needMore
            return
        }
        guard rest.removeFirst() == 22 else {
            self = .none
            return
        }
        rest.removeFirst(2)
        let length = Int(rest.removeFirst()) << 8 | Int(rest.removeFirst())
        guard rest.count >= length else {
            self = .needMore
            return
        }
        self = Self.name(in: rest.prefix(length)).map { .name($0) } ?? .none
    }

    private static func name(in message: ArraySlice<UInt8>) -> String? {
        var rest = message
        // Type and length, version, random.
        guard rest.first == 1, rest.count > 4 + 2 + 32 else { return nil }
        rest.removeFirst(4 + 2 + 32)
        // Session, cipher suites, compression methods.
        guard vector(&rest, 1) != nil, vector(&rest, 2) != nil, vector(&rest, 1) != nil,
            var extensions = vector(&rest, 2)
        else { return nil }
        while extensions.count >= 4 {
            let kind = Int(extensions.removeFirst()) << 8 | Int(extensions.removeFirst())
            guard var body = vector(&extensions, 2) else { return nil }
            // server_name: a list of names, of kind host_name.
            if kind != 0 { continue }
            guard var list = vector(&body, 2), list.popFirst() == 0,
                let name = vector(&list, 2)
            else { return nil }
            return String(decoding: name, as: UTF8.self).lowercased()
        }
        return nil
    }

    /// Takes a length of `size` bytes and what it measures.
    private static func vector(
        _ bytes: inout ArraySlice<UInt8>, _ size: Int
    ) -> ArraySlice<UInt8>? {
        guard bytes.count >= size else { return nil }
        let count = bytes.prefix(size).reduce(0) { $0 << 8 | Int($1) }
        bytes.removeFirst(size)
        guard bytes.count >= count else { return nil }
        defer { bytes.removeFirst(count) }
        return bytes.prefix(count)
    }
}
