import Synchronization

/// Owns the bytes of one request and overwrites them when the last holder lets go: they carry
/// tokens.
///
/// Slices handed out share the storage; a slice that outlives the request keeps its own bytes
/// alive, and wiping them is then up to its holder.
final class RequestBytes: Sendable {
    private let storage: Mutex<[UInt8]>

    init(_ bytes: consuming [UInt8]) {
        storage = Mutex(bytes)
    }

    deinit {
        storage.withLock { wipe(&$0) }
    }

    /// The bytes, shared, not copied.
    var shared: [UInt8] { storage.withLock { $0 } }
}
