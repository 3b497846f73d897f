import CRuntime
import Glibc
import WakeModel
import WakePush
import WakeSystem

/// `bench push-bytes`: what sending pushes cannot do without. The bytes of requests that were
/// encoded before, each with its stream's number, through TLS, and the answers read and not looked
/// at. No table of streams, no queue, no decoding, no clock.
enum PushBytes {
    private static let help = """
        usage: bench push-bytes --port N --authority FILE --key FILE --token-file FILE
            [--gateway apns|fcm] [--pushes 1000000]
        """

    private enum Failure: Error {
        case noConnection, noRequest, broken
    }

    private static let streams = 1000
    /// Requests that are written at once, at most.
    private static let most = 256
    /// HEADERS of one byte: the whole answer of `push-peer`.
    private static let answerBytes = 10

    static func run(_ arguments: [String]) -> Int32 {
        let options = Options(
            arguments,
            known: ["port", "authority", "key", "token-file", "gateway", "pushes"])
        let gateway = options["gateway"] ?? "apns"
        guard options.unknown == nil, ["apns", "fcm"].contains(gateway),
            let port = options["port"].flatMap(UInt16.init),
            let key = options["key"], let file = options["token-file"],
            let authority = options["authority"], var endpoint = GatewayEndpoint.apns(.apns)
        else {
            print(help)
            return 2
        }
        endpoint.host = "localhost"
        endpoint.port = port
        let isFCM = gateway == "fcm"
        guard
            let template = isFCM
                ? PushWorkshop.shapeOfFCM(endpoint)
                : PushWorkshop.shape(endpoint, signingKey: key, keptIn: file)
        else { return 1 }
        var token = [UInt8](repeating: UInt8(ascii: "a"), count: 64)
        if isFCM {
            // As long as those of `BroadcastRows`.
            let text = [UInt8](repeating: UInt8(ascii: "a"), count: 140)
            token.removeAll()
            FCMRequest.append(text.span, to: &token)
        }
        do {
            let line = try TLSLine(port: port, authority: authority)
            let count = options.number("pushes", default: 1_000_000)
            print(try send(count, of: token, template, on: line).report)
            return 0
        } catch {
            print("failed: \(error)")
            return 1
        }
    }

    private static func send(
        _ count: Int, of token: [UInt8], _ template: RequestTemplate, on line: TLSLine
    ) throws -> Measurement {
        // One push by a real connection, so that the peer has settings and table; the bytes of the
        // next one are those of all that follow.
        var connection = PushConnection(template, now: 0)
        try exchange(&connection, on: line, until: { $0.room > 0 })
        connection.push(0, token: token.span)
        try exchange(&connection, on: line, until: { $0.room > 1 })
        connection.push(1, token: token.span)
        let (output, offset) = connection.outputBytes
        let request = Array(output[offset...])
        guard request.count > 18 else { throw Failure.noRequest }
        let second = 9 + Int(request.span.bigEndian(at: 0, as: UInt32.self) >> 8)
        var bytes: [UInt8] = []
        for _ in 0..<most { bytes += request }

        var (sent, answered, stream) = (0, 0, UInt32(3))
        var input = [UInt8](repeating: 0, count: 65_536)
        let watch = Stopwatch()
        while answered < count {
            let room = min(most, count - sent, streams - (sent - answered))
            // A full window, or the last ones; else answers make room for as many at once.
            if room > 0, room >= min(most, count - sent, max(1, streams / 2)) {
                for index in 0..<room {
                    bytes.put(bigEndian: stream, at: index * request.count + 5)
                    bytes.put(bigEndian: stream, at: index * request.count + second + 5)
                    stream += 2
                }
                try line.write(bytes, room * request.count)
                sent += room
            } else {
                answered += try line.read(into: &input) / answerBytes
            }
        }
        return Measurement(
            operations: count, seconds: watch.seconds, processorSeconds: watch.processorSeconds)
    }

    private static func exchange(
        _ connection: inout PushConnection, on line: TLSLine,
        until isDone: (PushConnection) -> Bool
    ) throws {
        var input = [UInt8](repeating: 0, count: 65_536)
        while !isDone(connection) {
            let (bytes, offset) = connection.outputBytes
            if offset < bytes.count {
                try line.write(Array(bytes[offset...]), bytes.count - offset)
                connection.didSend(bytes.count - offset)
            }
            let count = try line.read(into: &input)
            connection.receive(input, count: count, now: 0)
            guard connection.end == nil else { throw Failure.broken }
        }
        let (bytes, offset) = connection.outputBytes
        if offset < bytes.count {
            try line.write(Array(bytes[offset...]), bytes.count - offset)
            connection.didSend(bytes.count - offset)
        }
    }

    /// A TLS connection to this machine that waits.
    @safe
    private final class TLSLine {
        private let library: crt_ssl
        private let context: UnsafeMutableRawPointer
        private let connection: UnsafeMutableRawPointer
        private let descriptor: Int32

        init(port: UInt16, authority: String) throws {
            guard let descriptor = ServiceAddress.loopback(port: port).connect() else {
                throw Failure.noConnection
            }
            var library = unsafe crt_ssl(table: nil)
            guard unsafe crt_ssl_load(nil, &library) == CRT_LOADED,
                let context = unsafe crt_ssl_context_new(library, false),
                unsafe crt_ssl_context_trust(library, context, authority),
                let connection = unsafe crt_ssl_new(
                    library, context, descriptor, false, "localhost")
            else { throw Failure.noConnection }
            unsafe self.library = unsafe library
            unsafe self.context = unsafe context
            unsafe self.connection = unsafe connection
            self.descriptor = descriptor
            while case let result = unsafe crt_ssl_handshake(library, connection), result != 1 {
                try wait(for: result)
            }
        }

        deinit {
            unsafe crt_ssl_free(library, connection)
            unsafe crt_ssl_context_free(library, context)
            close(descriptor)
        }

        /// All of it has left when this returns.
        func write(_ bytes: [UInt8], _ count: Int) throws {
            var sent = 0
            while sent < count {
                let result = unsafe bytes.withUnsafeBytes { bytes -> Int32 in
                    guard let base = bytes.baseAddress else { return -4 }
                    return unsafe crt_ssl_write(library, connection, base + sent, count - sent)
                }
                if result > 0 { sent += Int(result) } else { try wait(for: result) }
            }
            while case let result = unsafe crt_ssl_flush(library, connection), result != 1 {
                try wait(for: result)
            }
        }

        /// - Returns: at least one byte.
        func read(into bytes: inout [UInt8]) throws -> Int {
            while true {
                let result = unsafe bytes.withUnsafeMutableBytes { bytes -> Int32 in
                    guard let base = bytes.baseAddress else { return -4 }
                    return unsafe crt_ssl_read(library, connection, base, bytes.count)
                }
                if result > 0 { return Int(result) }
                try wait(for: result)
            }
        }

        private func wait(for result: Int32) throws {
            let events: Int32
            switch crt_ssl_result(rawValue: result) {
            case CRT_SSL_WANTS_READ: events = POLLIN
            // The peer may wait for us to read, too.
            case CRT_SSL_WANTS_WRITE: events = POLLOUT
            default: throw Failure.broken
            }
            var wait = pollfd(fd: descriptor, events: Int16(events), revents: 0)
            guard unsafe poll(&wait, 1, 60_000) == 1 else { throw Failure.broken }
        }
    }
}
