private import CSodium
import WakeSystem

/// An X25519 key pair (RFC 7748 §6.1), its private half in guarded memory.
package struct AgreementKey: Sendable {
    package static let byteCount = 32
    private let secret: KeyMemory
    /// 32 bytes.
    package let publicKey: [UInt8]

    /// - Parameter secret: 32 bytes.
    package init(secret: Span<UInt8>) {
        precondition(secret.count == Self.byteCount)
        self.secret = KeyMemory(secret)
        publicKey = X25519.publicKey(of: secret)
    }

    /// The secret of both keys; see ``X25519``.
    package func agree(with other: Span<UInt8>) -> [UInt8]? {
        secret.withSpan { X25519.agree($0, with: other) }
    }
}

/// X25519 (RFC 7748 §5), for keys that live for one message.
package enum X25519 {
    /// - Parameter secret: 32 bytes.
    package static func publicKey(of secret: Span<UInt8>) -> [UInt8] {
        precondition(secret.count == 32)
        Sodium.start()
        var point = [UInt8](repeating: 0, count: 32)
        point.withMutablePointer { point in
            secret.withPointer { _ = unsafe crypto_scalarmult_base(point, $0) }
        }
        return point
    }

    /// The shared secret of 32 bytes, which the caller wipes; nil where it is all zeros, as with a
    /// point of small order (RFC 7748 §6.1, RFC 9180 §7.1.4), or where `other` has not 32 bytes.
    package static func agree(_ secret: Span<UInt8>, with other: Span<UInt8>) -> [UInt8]? {
        guard other.count == 32 else { return nil }
        precondition(secret.count == 32)
        Sodium.start()
        var shared = [UInt8](repeating: 0, count: 32)
        let isAgreed = shared.withMutablePointer { shared in
            secret.withPointer { secret in
                other.withPointer { unsafe crypto_scalarmult(shared, secret, $0) == 0 }
            }
        }
        guard isAgreed, !shared.span.isZero else {
            shared.wipe()
            return nil
        }
        return shared
    }
}
