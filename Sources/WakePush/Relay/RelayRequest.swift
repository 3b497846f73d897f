private import WakeModel
package import WakeSodium

/// The signed part of `POST /v1/relay/wakes` (RFC 9421, RFC 9530). Who sends makes it of a body and
/// a key; who receives parses it, looks up the key, verifies authority and body, and then asks its
/// ``ReplayGuard`` whether the request is fresh.
package struct RelayRequest: Sendable, Equatable {
    package static let path: StaticString = "/v1/relay/wakes"
    package static let contentType: StaticString = "application/json"
    /// Of a body.
    package static let maximumBytes = 655_360

    package let contentDigest: ContentDigest
    package let signature: MessageSignature

    /// Signs.
    /// - Parameters:
    ///   - authority: of the relay: host, and port unless it is the scheme's own; lower case.
    ///   - created: seconds since 1970.
    package init(
        body: Span<UInt8>, authority: [UInt8], key: SigningKey, created: Int,
        nonce: SignatureNonce
    ) {
        contentDigest = ContentDigest(of: body)
        let components = MessageSignature.Components(
            authority: authority, contentDigest: contentDigest.field)
        signature = MessageSignature(components, created: created, nonce: nonce, key: key)
    }

    /// Parses the values of the fields; nil for a field that is missing.
    /// - Throws: `missing` or `malformed`.
    package init(
        contentType: [UInt8]?, contentDigest: [UInt8]?, signatureInput: [UInt8]?,
        signature: [UInt8]?
    ) throws(SignatureFault) {
        guard let signatureInput, let signature else { throw .missing }
        guard let contentType, contentType.span.equals(Self.contentType), let contentDigest,
            let digest = ContentDigest(field: contentDigest),
            let parsed = MessageSignature(input: signatureInput, signature: signature)
        else { throw .malformed }
        self.contentDigest = digest
        self.signature = parsed
    }

    /// The public key that it claims to be signed with, 32 bytes.
    package var key: [UInt8] { signature.parameters.key }

    /// Verifies everything but the body, which need not be there yet.
    /// - Throws: `wrong`.
    package func verify(authority: [UInt8], key: VerifyingKey) throws(SignatureFault) {
        let components = MessageSignature.Components(
            authority: authority, contentDigest: contentDigest.field)
        guard signature.verifies(components, key: key) else { throw .wrong }
    }

    /// Verifies the body.
    /// - Throws: `wrong`.
    package func verify(body: Span<UInt8>) throws(SignatureFault) {
        guard ContentDigest(of: body) == contentDigest else { throw .wrong }
    }

    /// Names and values of the fields.
    package var fields: [(name: StaticString, value: [UInt8])] {
        [
            ("Content-Type", Array(Self.contentType.description.utf8)),
            ("Content-Digest", contentDigest.field),
            ("Signature-Input", signature.inputField),
            ("Signature", signature.signatureField),
        ]
    }
}
