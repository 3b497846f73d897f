import Synchronization
import WakeFetch

/// Collects a small body, and never more than its bound.
final class BoundedBody: Sendable {
    private let limit: Int
    private let bytes = Mutex<[UInt8]>([])

    init(limit: Int) {
        self.limit = limit
    }

    func append(_ piece: Span<UInt8>) -> FetchVerdict {
        let copy = Array(copying: piece)
        return bytes.withLock { bytes in
            guard bytes.count + copy.count <= limit else { return .stop }
            bytes += copy
            return .proceed
        }
    }

    func take() -> [UInt8] {
        bytes.withLock { bytes in
            defer { bytes = [] }
            return bytes
        }
    }
}
