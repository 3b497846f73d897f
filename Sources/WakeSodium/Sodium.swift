private import CSodium

/// The one-time start of libsodium. Every type of this module starts it for itself.
package enum Sodium {
    /// Safe to call often and from any thread (libsodium manual, "Usage").
    package static func start() {
        _ = started
    }

    private static let started: Bool = {
        precondition(sodium_init() >= 0, "libsodium could not be initialised")
        return true
    }()

    /// Cryptographically random bytes.
    package static func random(_ count: Int) -> [UInt8] {
        start()
        var bytes = [UInt8](repeating: 0, count: count)
        bytes.withMutablePointer { unsafe randombytes_buf($0, count) }
        return bytes
    }
}
