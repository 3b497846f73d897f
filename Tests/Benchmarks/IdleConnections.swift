private import CLinux
private import Glibc
import TestSupport

/// Many connections that say nothing: just opened, after one answered request, or event streams.
struct IdleConnections: ~Copyable {
    enum Failure: Error {
        case refused(at: Int)
        case notAnswered(at: Int)
    }

    /// What is asked once on each connection.
    struct Asking {
        let bytes: [UInt8]

        init(_ method: String, _ path: String, _ fields: String = "") {
            bytes = Array("\(method) \(path) HTTP/1.1\r\nHost: localhost\r\n\(fields)\r\n".utf8)
        }

        /// An answer without a body; the connection then stays open for the next request.
        static let policy = Asking("HEAD", "/v1/policy")
        static let stream = Asking("GET", "/v1/wakes")
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
        let bytes = request.bytes
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

    /// Waits until something has come on every connection.
    /// - Returns: nanoseconds since `start`, for each.
    borrowing func awaitEvent(since start: UInt64) throws(Failure) -> Histogram {
        let epoll = linux_epoll_create()
        defer { close(epoll) }
        for (index, descriptor) in descriptors.enumerated() {
            _ = linux_epoll_add(epoll, descriptor, UInt32(linux_in.rawValue), UInt64(index))
        }
        var latencies = Histogram()
        var chunk = [UInt8](repeating: 0, count: 4096)
        var hasCome = [Bool](repeating: false, count: descriptors.count)
        var events = [linux_event](repeating: linux_event(), count: 1024)
        while latencies.count < descriptors.count {
            let ready = unsafe linux_epoll_wait(epoll, &events, Int32(events.count), 30_000)
            guard ready > 0 else { throw .notAnswered(at: latencies.count) }
            let now = Stopwatch.monotonic()
            for event in events[..<Int(ready)] {
                let index = Int(event.token)
                let count = unsafe recv(descriptors[index], &chunk, chunk.count, 0)
                guard count > 0 else { throw .notAnswered(at: index) }
                if !hasCome[index] { latencies.record(now - start) }
                hasCome[index] = true
            }
        }
        return latencies
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
