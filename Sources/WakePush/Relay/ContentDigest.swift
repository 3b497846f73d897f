private import WakeModel
private import WakeSodium

/// The field `Content-Digest` (RFC 9530 §2) with SHA-256 and nothing else: it binds a body to a
/// signature that covers the field.
package struct ContentDigest: Sendable, Equatable {
    /// 32 bytes.
    package let sha256: [UInt8]

    /// Of a body.
    package init(of body: Span<UInt8>) {
        sha256 = SHA256.hash(body)
    }

    /// From the value of the field; nil for anything but one SHA-256.
    package init?(field: [UInt8]) {
        var reader = StructuredFieldReader(field)
        do throws(StructuredFieldReader.Malformed) {
            try reader.expect("sha-256=")
            let bytes = try reader.bytes()
            guard bytes.count == 32, reader.isAtEnd else { return nil }
            sha256 = bytes
        } catch {
            return nil
        }
    }

    /// In a time that does not tell where they differ.
    package static func == (left: ContentDigest, right: ContentDigest) -> Bool {
        var difference: UInt8 = 0
        for (one, other) in zip(left.sha256, right.sha256) { difference |= one ^ other }
        return difference == 0
    }

    /// The value of the field.
    package var field: [UInt8] { Array("sha-256=".utf8) + StructuredBytes.encode(sha256) }
}
