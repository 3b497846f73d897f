internal import CCrypto
import WakeBytes

/// `crypto_secretbox` (XSalsa20-Poly1305): nonce (24) ‖ tag (16) ‖ ciphertext.
package enum SecretBox {
    package static let nonceBytes = 24
    package static let overheadBytes = nonceBytes + 16

    /// - Parameter key: 32 bytes.
    /// - Returns: the message, or nil when the key or any bit differ.
    package static func open(_ box: Span<UInt8>, key: Span<UInt8>) -> [UInt8]? {
        precondition(key.count == 32)
        guard box.count >= overheadBytes else { return nil }
        guard let functions = unsafe LinkedLibrary.functions else {
            return PlainSecretBox.open(box, key: key)
        }
        var message = [UInt8](repeating: 0, count: box.count - overheadBytes)
        let isOpen = message.withMutablePointer { output in
            box.withPointer { input in
                key.withPointer { key in
                    unsafe functions.pointee.secretbox_open(
                        output, input + nonceBytes, UInt64(box.count - nonceBytes), input, key)
                        == 0
                }
            }
        }
        return isOpen ? message : nil
    }
}
