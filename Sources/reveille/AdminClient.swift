import Glibc
import WakeCommand
import WakeServer

/// A client of the running service's admin socket: one request and one answer per connection.
struct AdminClient {
    let address: Configuration.Address

    struct Answer {
        let status: Int
        let body: [UInt8]
    }

    private static let answerLimit = 1 << 20

    /// The body of an answer with status 200.
    func get(_ path: String) throws(CommandFailure) -> [UInt8] {
        let answer = try send("GET", path)
        guard answer.status == 200 else { throw Self.refused(answer) }
        return answer.body
    }

    static func refused(_ answer: Answer) -> CommandFailure {
        CommandFailure("the service refused with status \(answer.status)")
    }

    func send(
        _ method: String, _ path: String, body: String = ""
    ) throws(CommandFailure) -> Answer {
        let descriptor = try connect()
        defer { close(descriptor) }
        let request =
            "\(method) \(path) HTTP/1.1\r\nHost: admin\r\nConnection: close\r\n"
            + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
        try write(Array(request.utf8), to: descriptor)
        return try parse(try readAll(descriptor))
    }

    private func connect() throws(CommandFailure) -> Int32 {
        let descriptor =
            switch address {
            case .unix(let path): Self.connectUnix(path)
            case .tcp(let host, let port): Self.connectTCP(host, port)
            }
        guard descriptor >= 0 else {
            throw CommandFailure(
                "the service does not answer on its admin socket: is it running?",
                hint: "start it with `reveille serve`, as the same user", status: .transient)
        }
        var timeout = timeval(tv_sec: 30, tv_usec: 0)
        let size = socklen_t(MemoryLayout<timeval>.size)
        unsafe setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, size)
        unsafe setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &timeout, size)
        return descriptor
    }

    private static func connectUnix(_ path: String) -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        let fits = unsafe withUnsafeMutableBytes(of: &address.sun_path) { buffer in
            guard bytes.count < buffer.count else { return false }
            unsafe buffer.copyBytes(from: bytes)
            return true
        }
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        guard fits, descriptor >= 0 else { return -1 }
        let connected = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
        if connected { return descriptor }
        close(descriptor)
        return -1
    }

    private static func connectTCP(_ host: String, _ port: UInt16) -> Int32 {
        var hints = unsafe addrinfo()
        unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        unsafe hints.ai_flags = AI_NUMERICSERV
        var found: UnsafeMutablePointer<addrinfo>?
        guard unsafe getaddrinfo(host, String(port), &hints, &found) == 0 else { return -1 }
        defer { unsafe freeaddrinfo(found) }
        var next = unsafe found
        while let candidate = unsafe next {
            let info = unsafe candidate.pointee
            let descriptor = unsafe socket(info.ai_family, info.ai_socktype, 0)
            if descriptor >= 0 {
                if unsafe Glibc.connect(descriptor, info.ai_addr, info.ai_addrlen) == 0 {
                    return descriptor
                }
                close(descriptor)
            }
            unsafe next = info.ai_next
        }
        return -1
    }

    private func write(_ bytes: [UInt8], to descriptor: Int32) throws(CommandFailure) {
        var written = 0
        while written < bytes.count {
            let count = unsafe bytes.withUnsafeBytes { buffer in
                let rest = unsafe UnsafeRawBufferPointer(rebasing: buffer[written...])
                return unsafe Glibc.send(
                    descriptor, rest.baseAddress, rest.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { throw Self.broken }
            written += count
        }
    }

    private func readAll(_ descriptor: Int32) throws(CommandFailure) -> [UInt8] {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 16_384)
        while bytes.count < Self.answerLimit {
            let count = unsafe chunk.withUnsafeMutableBytes {
                unsafe recv(descriptor, $0.baseAddress, $0.count, 0)
            }
            guard count >= 0 else { throw Self.broken }
            if count == 0 { break }
            bytes.append(contentsOf: chunk[..<count])
        }
        return bytes
    }

    /// Our own service, `Connection: close`: the head, then the body up to the end.
    private func parse(_ bytes: [UInt8]) throws(CommandFailure) -> Answer {
        let end = Array("\r\n\r\n".utf8)
        guard bytes.count > 12, bytes.starts(with: "HTTP/1.1 ".utf8),
            let status = Int(String(decoding: bytes[9..<12], as: UTF8.self)),
            let head = (0...(bytes.count - end.count)).first(where: {
                bytes[$0...].starts(with: end)
            })
        else { throw Self.broken }
        return Answer(status: status, body: Array(bytes[(head + end.count)...]))
    }

    private static let broken = CommandFailure(
        "the service's answer on the admin socket was cut short", status: .transient)
}
