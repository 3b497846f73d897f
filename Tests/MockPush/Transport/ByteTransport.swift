import CLinux
import Glibc

/// The bytes of one connection, encrypted or not.
protocol ByteTransport: AnyObject {
    /// Bytes can be sent.
    var isReady: Bool { get }
    /// Reads into `buffer`, from `start` on.
    func receive(into buffer: inout [UInt8], from start: Int) -> TransportOutcome
    func send(_ bytes: Span<UInt8>) -> TransportOutcome
    /// Nothing more will be sent.
    func finish()
}

enum TransportOutcome: Equatable {
    case count(Int)
    case wouldBlock
    /// The end of the stream, or broken.
    case closed
}

/// HTTP/2 with prior knowledge (RFC 9113 §3.3).
final class PlainTransport: ByteTransport {
    private let descriptor: Int32
    let isReady = true

    init(_ descriptor: Int32) { self.descriptor = descriptor }

    func receive(into buffer: inout [UInt8], from start: Int) -> TransportOutcome {
        let count = unsafe buffer.withUnsafeMutableBytes { bytes -> Int in
            guard let base = bytes.baseAddress, start < bytes.count else { return -Int(EINVAL) }
            return unsafe linux_receive(descriptor, base + start, bytes.count - start)
        }
        if count == 0 { return .closed }
        return Self.outcome(count)
    }

    func send(_ bytes: Span<UInt8>) -> TransportOutcome {
        Self.outcome(
            unsafe bytes.withUnsafeBytes {
                unsafe linux_send(descriptor, $0.baseAddress, $0.count, false)
            })
    }

    func finish() { _ = linux_shutdown_send(descriptor) }

    private static func outcome(_ count: Int) -> TransportOutcome {
        if count >= 0 { return .count(count) }
        return count == -Int(EAGAIN) ? .wouldBlock : .closed
    }
}
