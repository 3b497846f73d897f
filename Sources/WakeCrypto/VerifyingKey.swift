internal import CCrypto
import WakeBytes

/// An Ed25519 public key (RFC 8032 §5.1).
package struct VerifyingKey: Sendable, Hashable {
    /// 32 bytes.
    package let bytes: [UInt8]

    /// - Returns: nil unless 32 bytes that are a point of full order.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count == 32, Self.isPoint(bytes) else { return nil }
        self.bytes = bytes
    }

    /// - Parameter bytes: of a key that was derived from its secret.
    package init(trusted bytes: [UInt8]) { self.bytes = bytes }

    /// 43 characters of base64url.
    package var text: String { String(decoding: Base64URL.encode(bytes.span), as: UTF8.self) }

    package init?(text: String) {
        let characters = Array(text.utf8)
        guard let bytes = Base64URL.decode(characters.span) else { return nil }
        self.init(bytes)
    }

    private static func isPoint(_ bytes: [UInt8]) -> Bool {
        guard let functions = unsafe LinkedLibrary.functions else {
            return PlainEd25519.isValidPoint(bytes.span)
        }
        return bytes.withPointer { unsafe functions.pointee.ed25519_is_valid_point($0) == 1 }
    }

    package func verifies(_ signature: Span<UInt8>, of message: Span<UInt8>) -> Bool {
        guard signature.count == 64 else { return false }
        guard let functions = unsafe LinkedLibrary.functions else {
            return PlainEd25519.verifies(signature, of: message, key: bytes.span)
        }
        return signature.withPointer { signature in
            message.withPointer { content in
                bytes.withPointer { key in
                    unsafe functions.pointee.ed25519_verify(
                        signature, content, UInt64(message.count), key) == 0
                }
            }
        }
    }
}
