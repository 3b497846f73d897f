import Dispatch
import Glibc
import Synchronization

/// A server on loopback that answers whatever it is told, right or wrong, and remembers every byte
/// that clients sent.
final class LoopbackServer: Sendable {
    /// What is sent back: bytes, and then these over and over until the client goes away.
    struct Reply: Sendable {
        var bytes: [UInt8]
        var endless: [UInt8] = []

        init(_ head: String, _ body: [UInt8] = [], endless: [UInt8] = []) {
            bytes = Array(head.utf8) + body
            self.endless = endless
        }

        static func ok(_ body: [UInt8], type: String = "application/octet-stream") -> Reply {
            Reply(
                "HTTP/1.1 200 OK\r\nContent-Type: \(type)\r\n"
                    + "Content-Length: \(body.count)\r\n\r\n", body)
        }

        static let noContent = Reply("HTTP/1.1 204 No Content\r\n\r\n")
    }

    let port: UInt16
    private let listener: Int32
    private let requests = Mutex<[[UInt8]]>([])
    private let reply: @Sendable (_ line: String) -> Reply

    init(reply: @escaping @Sendable (_ line: String) -> Reply) throws {
        self.reply = reply
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let listener = listener
        port = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                _ = unsafe bind(listener, address, length)
                _ = listen(listener, 64)
                _ = unsafe getsockname(listener, address, &length)
            }
            return unsafe UInt16(bigEndian: pointer.pointee.sin_port)
        }
        DispatchQueue(label: "loopback").async { [weak self] in
            while true {
                let connection = accept(listener, nil, nil)
                guard connection >= 0, let self else { return }
                DispatchQueue(label: "connection").async { self.serve(connection) }
            }
        }
    }

    deinit {
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
    }

    /// Every request, head and body.
    var received: [[UInt8]] { requests.withLock { $0 } }

    private func serve(_ connection: Int32) {
        defer { close(connection) }
        var unread: [UInt8] = []
        while let request = Self.next(connection, &unread) {
            requests.withLock { $0.append(request) }
            let line = String(decoding: request.prefix { $0 != 0x0D }, as: UTF8.self)
            let reply = reply(line)
            guard Self.send(connection, reply.bytes) else { return }
            guard reply.endless.isEmpty else {
                while Self.send(connection, reply.endless) {}
                return
            }
        }
    }

    private static func next(_ connection: Int32, _ unread: inout [UInt8]) -> [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: 16_384)
        while true {
            if let end = unread.firstRange(of: Array("\r\n\r\n".utf8)) {
                let head = String(decoding: unread[..<end.lowerBound], as: UTF8.self)
                let length =
                    head.split(separator: "\r\n").first { $0.hasPrefix("Content-Length: ") }
                    .flatMap { Int($0.dropFirst("Content-Length: ".count)) } ?? 0
                let total = end.upperBound + length
                if unread.count >= total {
                    defer { unread.removeFirst(total) }
                    return Array(unread[..<total])
                }
            }
            let count = unsafe recv(connection, &buffer, buffer.count, 0)
            guard count > 0 else { return nil }
            unread += buffer[..<count]
        }
    }

    private static func send(_ connection: Int32, _ bytes: [UInt8]) -> Bool {
        var sent = 0
        while sent < bytes.count {
            let rest = Array(bytes[sent...])
            let count = unsafe Glibc.send(connection, rest, rest.count, Int32(MSG_NOSIGNAL))
            guard count > 0 else { return false }
            sent += count
        }
        return true
    }
}
