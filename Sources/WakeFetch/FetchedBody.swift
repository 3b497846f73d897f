import Synchronization

/// Collects what a sink is given.
final class FetchedBody: Sendable {
    private let bytes = Mutex<[UInt8]>([])

    func append(_ chunk: Span<UInt8>) -> FetchVerdict {
        // A closure cannot capture a span, hence the copy before the lock.
        var copy: [UInt8] = []
        copy.reserveCapacity(chunk.count)
        for index in chunk.indices { copy.append(chunk[index]) }
        bytes.withLock { $0 += copy }
        return .proceed
    }

    func take() -> [UInt8] {
        bytes.withLock { bytes in
            defer { bytes = [] }
            return bytes
        }
    }
}
