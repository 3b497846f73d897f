import Synchronization

/// Owns the bytes of one request and overwrites them when the last holder lets go: they carry
/// tokens.
///
/// Slices handed out share the storage; a slice that outlives the request keeps its own bytes
/// alive, and wiping them is then up to its holder.
final class RequestBytes: Sendable {
    private let storage: Mutex<[UInt8]>
    /// What a large body takes up: free again when the bytes are gone.
    private let place: LargeBodyPlaces.Place?

    init(_ bytes: consuming [UInt8], place: LargeBodyPlaces.Place? = nil) {
        storage = Mutex(bytes)
        self.place = place
    }

    deinit {
        storage.withLock { wipe(&$0) }
    }

    /// The bytes, shared, not copied.
    var shared: [UInt8] { storage.withLock { $0 } }
}
