import WakeSodium

/// What is signed (RFC 9421 §2.5).
enum SignatureBase {
    /// - Parameters:
    ///   - components: the identifiers, without quotation marks, and their values.
    ///   - parameters: the inner list with its parameters.
    static func bytes(
        _ components: [(name: StaticString, value: [UInt8])], parameters: [UInt8]
    ) -> [UInt8] {
        var base: [UInt8] = []
        for component in components + [("@signature-params", parameters)] {
            if !base.isEmpty { base.append(0x0A) }
            base += Array("\"\(component.name)\": ".utf8)
            base += component.value
        }
        return base
    }
}

/// The fields `Signature-Input` and `Signature` (RFC 9421 §4) of a request to a relay: one
/// signature with the label `wakes`, Ed25519, over exactly the components of
/// ``SignatureParameters``.
package struct MessageSignature: Sendable, Equatable {
    package let parameters: SignatureParameters
    /// 64 bytes.
    package let signature: [UInt8]

    /// The values of the covered components.
    struct Components {
        let authority: [UInt8]
        let contentDigest: [UInt8]

        /// RFC 9421 §2.2.1, §2.2.3, §2.2.6, §2.1: one method, path and content type for all.
        func base(_ parameters: SignatureParameters) -> [UInt8] {
            let values = [
                Array("POST".utf8), authority, Array(RelayRequest.path.description.utf8),
                Array(RelayRequest.contentType.description.utf8), contentDigest,
            ]
            let components = zip(SignatureParameters.components, values).map { ($0, $1) }
            return SignatureBase.bytes(components, parameters: parameters.text)
        }
    }

    /// Signs.
    init(
        _ components: Components, created: Int, nonce: SignatureNonce, key: SigningKey
    ) {
        let parameters = SignatureParameters(
            created: created, nonce: nonce, key: key.verifyingKey.bytes)
        self.parameters = parameters
        let base = components.base(parameters)
        signature = key.sign(base.span)
    }

    /// From the values of the two fields; nil for anything but the one signature. It proves nothing
    /// yet.
    package init?(input: [UInt8], signature: [UInt8]) {
        var inputReader = StructuredFieldReader(input)
        var reader = StructuredFieldReader(signature)
        do throws(StructuredFieldReader.Malformed) {
            try inputReader.expect("wakes=")
            parameters = try SignatureParameters(&inputReader)
            try reader.expect("wakes=")
            self.signature = try reader.bytes()
        } catch {
            return nil
        }
        guard inputReader.isAtEnd, reader.isAtEnd, self.signature.count == 64 else { return nil }
    }

    func verifies(_ components: Components, key: VerifyingKey) -> Bool {
        guard key.bytes == parameters.key else { return false }
        let base = components.base(parameters)
        return key.verifies(signature.span, of: base.span)
    }

    /// The value of `Signature-Input`.
    package var inputField: [UInt8] { Array("wakes=".utf8) + parameters.text }

    /// The value of `Signature`.
    package var signatureField: [UInt8] {
        Array("wakes=".utf8) + StructuredBytes.encode(signature)
    }
}

/// Why a request's signature is not believed.
package enum SignatureFault: Error, Sendable, Hashable, CaseIterable {
    /// There is none.
    case missing
    /// Not the one form that is asked for.
    case malformed
    /// It does not verify, or the body is another than was signed.
    case wrong
    /// Made too long ago, or in the future.
    case stale
    /// Seen before.
    case replayed
}
