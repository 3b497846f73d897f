import WakeModel
import WakeSystem

/// The encryptions that HPKE is used with here, by their numbers (RFC 9180 §7.3).
package enum HPKECipher: UInt16, Sendable, CaseIterable {
    case aes128GCM = 1
    case chaCha20Poly1305 = 3

    package static let nonceBytes = 12
    package static let tagBytes = 16

    package var keyBytes: Int {
        switch self {
        case .aes128GCM: 16
        case .chaCha20Poly1305: 32
        }
    }

    /// As documents and programs name it.
    package var name: StaticString {
        switch self {
        case .aes128GCM: "AES-128-GCM"
        case .chaCha20Poly1305: "ChaCha20-Poly1305"
        }
    }

    /// Whether this machine can compute it: AES is OpenSSL's, which is loaded at run time.
    package var isAvailable: Bool {
        switch self {
        case .aes128GCM: AESLibrary.shared != nil
        case .chaCha20Poly1305: true
        }
    }

    /// - Returns: ciphertext ‖ tag; nil where it is not available, or without memory.
    func seal(
        _ message: Span<UInt8>, associated: Span<UInt8>, nonce: Span<UInt8>, key: Span<UInt8>
    ) -> [UInt8]? {
        switch self {
        case .aes128GCM:
            AESLibrary.shared?.seal(message, associated: associated, nonce: nonce, key: key)
        case .chaCha20Poly1305:
            ChaChaPoly.seal(message, associated: associated, nonce: nonce, key: key)
        }
    }

    /// - Returns: the message; nil when any bit differs, and where it is not available.
    func open(
        _ sealed: Span<UInt8>, associated: Span<UInt8>, nonce: Span<UInt8>, key: Span<UInt8>
    ) -> [UInt8]? {
        switch self {
        case .aes128GCM:
            AESLibrary.shared?.open(sealed, associated: associated, nonce: nonce, key: key)
        case .chaCha20Poly1305:
            ChaChaPoly.open(sealed, associated: associated, nonce: nonce, key: key)
        }
    }
}
