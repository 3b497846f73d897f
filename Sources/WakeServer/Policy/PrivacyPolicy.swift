private import WakeModel
private import WakeSodium

/// `Policy/privacy.json` as it was when this program was built.
package enum PrivacyPolicy {
    package static let document: [UInt8] = PackageResources.privacy_json

    /// BLAKE2b-256 of the document, hexadecimal: what `b2sum -l 256 Policy/privacy.json` prints.
    package static let hash: String = {
        let hash = Blake2b.hash(document.span)
        return String(decoding: Hex.encode(hash.span), as: UTF8.self)
    }()
}
