private import Foundation

/// The end of sd_notify(3) that a service manager holds.
package final class NotifySocket: Sendable {
    /// What NOTIFY_SOCKET says.
    package let name: String
    private let directory: TemporaryDirectory
    private let descriptor: Int32
    private let received = Observed<[String]>([])

    /// What came so far, in order; `silence` whenever nothing came for the patience.
    package var messages: [String] { received.value }
    package static let silence = "(silence)"

    /// - Parameters:
    ///   - isAbstract: a name that is no file (unix(7)).
    ///   - patience: how long is silence.
    package init(isAbstract: Bool = false, patience: Duration = .seconds(600)) throws {
        directory = try TemporaryDirectory()
        name = isAbstract ? "@reveille-test-\(UUID().uuidString)" : directory.path + "/notify"
        descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var path = Array(name.utf8)
        if isAbstract { path[0] = 0 }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: path) }
        let size = socklen_t(MemoryLayout<sa_family_t>.size + path.count)
        let bound = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe bind(descriptor, $0, size)
            }
        }
        guard bound == 0 else { throw TestFailure("bind: errno \(errno)") }
        let (seconds, attoseconds) = patience.components
        var time = timeval(
            tv_sec: Int(seconds), tv_usec: Int(attoseconds / 1_000_000_000_000))
        unsafe setsockopt(
            descriptor, SOL_SOCKET, SO_RCVTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
        Thread.detachNewThread { [descriptor, received] in
            var buffer = [UInt8](repeating: 0, count: 4096)
            while true {
                let count = unsafe recv(descriptor, &buffer, buffer.count, 0)
                if count < 0, errno == EINTR { continue }
                if count < 0, errno == EAGAIN {
                    received.update { $0.append(Self.silence) }
                    continue
                }
                // Empty once it is shut down.
                guard count > 0 else { break }
                let text = String(decoding: buffer.prefix(count), as: UTF8.self)
                received.update { $0.append(text) }
            }
            close(descriptor)
        }
    }

    deinit { shutdown(descriptor, Int32(SHUT_RDWR)) }

    /// Waits until this was said so many times.
    package func wait(for message: String, times: Int = 1) async throws {
        do {
            _ = try await received.first { messages in
                messages.count { $0.hasPrefix(message) } >= times ? true : nil
            }
        } catch {
            throw TestFailure("no \(message): \(messages)")
        }
    }
}
