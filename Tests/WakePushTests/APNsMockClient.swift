import CLinux
import Foundation
import Glibc
import TestSupport

@testable import WakePush

/// A plain HTTP/2 client of frames, for tests of the mock: sends what it is told, waits for what
/// comes.
final class APNsMockClient {
    enum Event: Hashable {
        case answer(stream: UInt32, status: String, body: String, fields: Int)
        case reset(stream: UInt32, code: UInt32)
        case goAway(lastStream: UInt32)
        case closed
    }

    private let descriptor: Int32
    private var input: [UInt8] = []
    private var position = 0
    private var decoder = HPACKDecoder()
    private var heads: [UInt32: (status: String, fields: Int, body: [UInt8])] = [:]
    private var block: [UInt8] = []
    private var nextStream: UInt32 = 1
    /// The last SETTINGS, by id.
    private(set) var settings: [UInt16: UInt32] = [:]
    /// By how much the connection's window was opened, each time.
    private var increments: [UInt32] = []

    init(port: Int) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(UInt16(port)).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let status = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard status == 0 else { throw TestFailure("connect: errno \(errno)") }
        // A mock that says nothing must not hang a test for ever.
        var limit = timeval(tv_sec: 20, tv_usec: 0)
        unsafe setsockopt(
            descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var hello = FrameWriter.preface
        FrameWriter.settings([], into: &hello)
        FrameWriter.settingsAcknowledgement(into: &hello)
        send(hello)
    }

    deinit { close(descriptor) }

    func send(_ bytes: [UInt8]) {
        _ = unsafe bytes.withUnsafeBytes {
            unsafe linux_send(descriptor, $0.baseAddress, $0.count, false)
        }
    }

    /// Sends one request; an absent value leaves the field out.
    @discardableResult
    func request(_ fields: [(String, String)], body: String, split: Int? = nil) -> UInt32 {
        let stream = nextStream
        nextStream += 2
        var block: [UInt8] = []
        for (name, value) in fields {
            HPACKWriter.literal(
                name: Array(name.utf8), value: Array(value.utf8), .without, into: &block)
        }
        var bytes: [UInt8] = []
        let body = Array(body.utf8)
        if let split {
            FrameWriter.headers(
                stream: stream, block: Array(block[..<split]), isWhole: false, ends: body.isEmpty,
                into: &bytes)
            FrameWriter.continuation(
                stream: stream, block: Array(block[split...]), isWhole: true, into: &bytes)
        } else {
            FrameWriter.headers(stream: stream, block: block, ends: body.isEmpty, into: &bytes)
        }
        if !body.isEmpty {
            FrameWriter.data(stream: stream, body: body[...], ends: true, into: &bytes)
        }
        send(bytes)
        return stream
    }

    /// The next thing that happens to a stream or the connection.
    func next() throws -> Event {
        while true {
            switch FrameReader.read(input.span, at: position, limit: 1 << 20) {
            case .complete(let frame, let end):
                position = end
                if let event = try take(frame) { return event }
            case .needMore: if try !more() { return .closed }
            case .invalid: throw TestFailure("no frame")
            }
        }
    }

    /// Reads on until the connection's window was opened by `increment` so often.
    /// - Returns: false when a stream or the connection ended first.
    func windowUpdate(of increment: UInt32, times: Int) throws -> Bool {
        while increments.count(where: { $0 == increment }) < times {
            switch FrameReader.read(input.span, at: position, limit: 1 << 20) {
            case .complete(let frame, let end):
                position = end
                if try take(frame) != nil { return false }
            case .needMore: if try !more() { return false }
            case .invalid: throw TestFailure("no frame")
            }
        }
        return true
    }

    private func take(_ frame: Frame) throws -> Event? {
        switch frame {
        case .windowUpdate(0, let increment):
            increments.append(increment)
            return nil
        case .headers(let stream, let fragment, let isWhole, let ends):
            block = Array(input[fragment])
            return isWhole ? try head(stream, ends) : nil
        case .continuation(let stream, let fragment, let isWhole):
            block += input[fragment]
            return isWhole ? try head(stream, true) : nil
        case .data(let stream, let body, _, let ends):
            heads[stream]?.body += input[body]
            return ends ? answer(stream) : nil
        case .reset(let stream, let code): return .reset(stream: stream, code: code)
        case .goAway(let last, _): return .goAway(lastStream: last)
        case .settings(let range):
            for start in stride(from: range.lowerBound, to: range.upperBound, by: 6) {
                let id = UInt16(input[start]) << 8 | UInt16(input[start + 1])
                settings[id] = input[(start + 2)..<(start + 6)].reduce(0) { $0 << 8 | UInt32($1) }
            }
            return nil
        default: return nil
        }
    }

    private func head(_ stream: UInt32, _ ends: Bool) throws -> Event? {
        var list = HeaderList()
        let whole = block
        try decoder.decode(whole.span, into: &list)
        heads[stream] = (String(decoding: list.value(0), as: UTF8.self), list.count, [])
        return ends ? answer(stream) : nil
    }

    private func answer(_ stream: UInt32) -> Event? {
        guard let head = heads.removeValue(forKey: stream) else { return nil }
        return .answer(
            stream: stream, status: head.status, body: String(decoding: head.body, as: UTF8.self),
            fields: head.fields)
    }

    private func more() throws -> Bool {
        var chunk = [UInt8](repeating: 0, count: 65_536)
        let count = unsafe recv(descriptor, &chunk, chunk.count, 0)
        if count < 0, errno != ECONNRESET { throw TestFailure("nothing came: errno \(errno)") }
        guard count > 0 else { return false }
        input += chunk.prefix(count)
        return true
    }
}
