private import Glibc

/// Many connections that say nothing: just opened, after one answered request, or event streams.
struct IdleConnections: ~Copyable {
    enum Failure: Error {
        case refused(at: Int)
        case notAnswered(at: Int)
    }

    /// What is asked once on each connection.
    enum Asking: String {
        /// An answer without a body; the connection then stays open for the next request.
        case policy = "HEAD /v1/policy HTTP/1.1\r\nHost: localhost\r\n\r\n"
        case stream = "GET /v1/wakes HTTP/1.1\r\nHost: localhost\r\n\r\n"
    }

    private var descriptors: [Int32] = []

    init(_ count: Int, to address: ServiceAddress) throws(Failure) {
        descriptors.reserveCapacity(count)
        for index in 0..<count {
            guard let descriptor = address.connect() else {
                for descriptor in descriptors { close(descriptor) }
                throw .refused(at: index)
            }
            descriptors.append(descriptor)
        }
    }

    deinit {
        for descriptor in descriptors { close(descriptor) }
    }

    /// Asks on every connection, and waits until the heads of all answers are there.
    borrowing func ask(_ request: Asking) throws(Failure) {
        let bytes = Array(request.rawValue.utf8)
        // As many at a time as a service can have waiting without a queue of any kind.
        for first in stride(from: 0, to: descriptors.count, by: 64) {
            let group = first..<min(first + 64, descriptors.count)
            for index in group {
                let sent = unsafe send(descriptors[index], bytes, bytes.count, Int32(MSG_NOSIGNAL))
                guard sent == bytes.count else { throw .notAnswered(at: index) }
            }
            for index in group {
                guard Self.isSuccess(descriptors[index]) else { throw .notAnswered(at: index) }
            }
        }
    }

    /// How many the service still holds open.
    borrowing func stillOpen() -> Int {
        var chunk = [UInt8](repeating: 0, count: 4096)
        return descriptors.count { descriptor in
            var count = 0
            repeat { count = unsafe recv(descriptor, &chunk, chunk.count, 0) } while count > 0
            return count < 0 && errno == EAGAIN
        }
    }

    private static func isSuccess(_ descriptor: Int32) -> Bool {
        var answer: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4096)
        while !isHeadComplete(answer) {
            var wait = [pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)]
            guard unsafe poll(&wait, 1, 10_000) == 1 else { return false }
            let count = unsafe recv(descriptor, &chunk, chunk.count, 0)
            guard count > 0 else { return false }
            answer += chunk[..<count]
        }
        return answer.starts(with: "HTTP/1.1 200".utf8)
    }

    private static func isHeadComplete(_ answer: [UInt8]) -> Bool {
        let mark: [UInt8] = [13, 10, 13, 10]
        return answer.indices.dropLast(3).contains { answer[$0..<$0 + 4].elementsEqual(mark) }
    }
}
