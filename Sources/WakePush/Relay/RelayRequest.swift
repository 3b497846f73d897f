package import WakeModel
import WakeSystem

/// The signed part of `POST /v1/relay/wakes` (RFC 9421, RFC 9530). A server parses it, looks up the
/// key, verifies authority and body, and asks its ``ReplayGuard`` whether the request is new.
package struct RelayRequest: Sendable, Equatable {
    package static let path: StaticString = "/v1/relay/wakes"
    package static let contentType: StaticString = "application/json"
    /// The largest body, in bytes.
    package static let maximumBytes = 655_360

    package let contentDigest: ContentDigest
    package let signature: MessageSignature

    /// Signs. `created`: seconds since 1970.
    /// - Parameter authority: the relay's host, and port unless the scheme's own; lower case.
    package init(
        body: Span<UInt8>, authority: [UInt8], key: SigningKey, created: Int, nonce: SignatureNonce
    ) {
        contentDigest = ContentDigest(of: body)
        let components = MessageSignature.Components(
            authority: authority, contentDigest: contentDigest.field)
        signature = MessageSignature(components, created: created, nonce: nonce, key: key)
    }

    /// Parses the fields' values, nil for a missing one; throws `missing` or `malformed`.
    package init(
        contentType: [UInt8]?, contentDigest: [UInt8]?, signatureInput: [UInt8]?,
        signature: [UInt8]?
    ) throws(SignatureError) {
        guard let signatureInput, let signature else { throw .missing }
        guard let contentType, contentType.span.equals(Self.contentType), let contentDigest,
            let digest = ContentDigest(field: contentDigest),
            let parsed = MessageSignature(input: signatureInput, signature: signature)
        else { throw .malformed }
        self.contentDigest = digest
        self.signature = parsed
    }

    /// The public key that the request claims to be signed with, 32 bytes.
    package var key: [UInt8] { signature.parameters.key }

    /// Verifies everything but the body, which may still be missing; throws `wrong`.
    package func verify(authority: [UInt8], key: VerifyingKey) throws(SignatureError) {
        let components = MessageSignature.Components(
            authority: authority, contentDigest: contentDigest.field)
        guard signature.verifies(components, key: key) else { throw .wrong }
    }

    /// Verifies the body; throws `wrong`.
    package func verify(body: Span<UInt8>) throws(SignatureError) {
        guard ContentDigest(of: body) == contentDigest else { throw .wrong }
    }

    package var fields: [(name: StaticString, value: [UInt8])] {
        [
            ("Content-Type", Self.contentType.bytes), ("Content-Digest", contentDigest.field),
            ("Signature-Input", signature.inputField), ("Signature", signature.signatureField),
        ]
    }
}

/// The field `Content-Digest` (RFC 9530 §2) with SHA-256 and nothing else.
package struct ContentDigest: Sendable, Equatable {
    /// 32 bytes.
    package let sha256: [UInt8]

    package init(of body: Span<UInt8>) { sha256 = SHA256.hash(body) }

    /// Parses the value of the field; nil for anything but one SHA-256.
    package init?(field: [UInt8]) {
        var reader = StructuredFieldReader(field)
        guard (try? reader.expect("sha-256=")) != nil, let bytes = try? reader.bytes(),
            bytes.count == 32, reader.isAtEnd
        else { return nil }
        sha256 = bytes
    }

    /// Compares in constant time.
    package static func == (left: ContentDigest, right: ContentDigest) -> Bool {
        var difference: UInt8 = 0
        for (one, other) in zip(left.sha256, right.sha256) { difference |= one ^ other }
        return difference == 0
    }

    package var field: [UInt8] { [UInt8](text: "sha-256=") + StructuredBytes.encode(sha256) }
}
