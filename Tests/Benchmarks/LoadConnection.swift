private import Glibc
import WakeSystem

/// One keep-alive connection with at most one request under way.
struct LoadConnection {
    let descriptor: Int32
    private var answer = [UInt8](repeating: 0, count: 4096)
    private var filled = 0
    private var start: UInt64 = 0
    private var isBroken = false

    init(descriptor: Int32) {
        self.descriptor = descriptor
    }

    enum Progress {
        case waiting
        case answered(status: Int, nanoseconds: UInt64)
        case broken
    }

    mutating func send(_ request: ArraySlice<UInt8>) {
        filled = 0
        start = Stopwatch.monotonic()
        let count = unsafe request.withUnsafeBytes { bytes in
            unsafe Glibc.send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
        }
        isBroken = count != request.count
    }

    mutating func read() -> Progress {
        guard !isBroken, filled < answer.count else { return .broken }
        let count = unsafe answer.withUnsafeMutableBytes { buffer in
            unsafe recv(
                descriptor, buffer.baseAddress.map { unsafe $0 + filled }, buffer.count - filled, 0)
        }
        guard count > 0 else { return count < 0 && errno == EAGAIN ? .waiting : .broken }
        filled += count
        guard let end = headEnd else { return .waiting }
        let status = answer[9..<12].reduce(0) { $0 * 10 + Int($1) - 48 }
        // A 204 has no body (RFC 9112 §6.3); whatever else comes is counted, and read to its end.
        guard status == 204 || filled >= end + contentLength(end) else { return .waiting }
        return .answered(status: status, nanoseconds: Stopwatch.monotonic() - start)
    }

    /// Where the head ends, behind its empty line; a 204 ends with it.
    private var headEnd: Int? {
        guard filled >= 12 else { return nil }
        if isEmptyLine(endingAt: filled) { return filled }
        return (4...filled).first { isEmptyLine(endingAt: $0) }
    }

    private func isEmptyLine(endingAt end: Int) -> Bool {
        answer[end - 1] == 10 && answer[end - 2] == 13 && answer[end - 3] == 10
            && answer[end - 4] == 13
    }

    private func contentLength(_ end: Int) -> Int {
        for line in answer[..<end].split(separator: 10) {
            let parts = line.split(separator: UInt8(ascii: ":"), maxSplits: 1)
            guard parts.count == 2,
                String(decoding: parts[0], as: UTF8.self).lowercased() == "content-length"
            else { continue }
            return parts[1].reduce(0) { (48...57).contains($1) ? $0 * 10 + Int($1) - 48 : $0 }
        }
        return 0
    }
}
