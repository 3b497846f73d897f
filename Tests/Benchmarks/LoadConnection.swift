private import Glibc
import WakeModel
import WakeSodium

/// One keep-alive connection that registers one fresh instance token after another.
struct LoadConnection {
    let descriptor: Int32
    private var request: [UInt8] = []
    private var sent = 0
    private var answer: [UInt8] = []
    private var start: UInt64 = 0

    init(descriptor: Int32) {
        self.descriptor = descriptor
    }

    enum Progress {
        case waiting
        case answered(status: Int, nanoseconds: UInt64)
        case broken
    }

    var wantsToWrite: Bool { sent < request.count }

    /// Begins the next request; tokens are random and used once.
    mutating func begin() {
        let instance = Base64URL.encode(Sodium.random(InstanceToken.byteCount).span)
        let pushToken = Hex.encode(Sodium.random(32).span)
        request.removeAll(keepingCapacity: true)
        request += Self.head
        request += instance
        request += Self.middle
        request += pushToken
        request += Self.tail
        sent = 0
        answer.removeAll(keepingCapacity: true)
        start = Stopwatch.monotonic()
        _ = write()
    }

    mutating func write() -> Progress {
        while sent < request.count {
            let count = unsafe request.withUnsafeBytes { bytes in
                unsafe send(
                    descriptor, UnsafeRawBufferPointer(rebasing: bytes[sent...]).baseAddress,
                    bytes.count - sent, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return errno == EAGAIN ? .waiting : .broken }
            sent += count
        }
        return .waiting
    }

    mutating func read() -> Progress {
        var chunk = [UInt8](repeating: 0, count: 4096)
        let count = unsafe recv(descriptor, &chunk, chunk.count, 0)
        guard count > 0 else { return count < 0 && errno == EAGAIN ? .waiting : .broken }
        answer += chunk[..<count]
        guard let end = Self.end(of: answer) else { return .waiting }
        guard answer.count >= end + Self.contentLength(answer[..<end]) else { return .waiting }
        let status = answer[9..<12].reduce(0) { $0 * 10 + Int($1) - 48 }
        return .answered(status: status, nanoseconds: Stopwatch.monotonic() - start)
    }

    private static let opening = #"{"service":"apns","token":""#
    private static let tail = Array(#""}"#.utf8)
    private static let head = Array(
        "PUT /v1/registration HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ".utf8)
    private static let middle = Array(
        ("\r\nContent-Type: application/json\r\nContent-Length: "
            + "\(opening.utf8.count + 64 + tail.count)\r\n\r\n" + opening).utf8)

    /// Where the head of the answer ends, behind its empty line.
    private static func end(of answer: [UInt8]) -> Int? {
        guard answer.count >= 12 else { return nil }
        let mark: [UInt8] = [13, 10, 13, 10]
        return (0...(answer.count - 4)).first { answer[$0..<$0 + 4].elementsEqual(mark) }
            .map { $0 + 4 }
    }

    private static func contentLength(_ head: ArraySlice<UInt8>) -> Int {
        for line in head.split(separator: 10) {
            let parts = line.split(separator: UInt8(ascii: ":"), maxSplits: 1)
            guard parts.count == 2,
                String(decoding: parts[0], as: UTF8.self).lowercased() == "content-length"
            else { continue }
            return parts[1].reduce(0) { (48...57).contains($1) ? $0 * 10 + Int($1) - 48 : $0 }
        }
        return 0
    }
}
