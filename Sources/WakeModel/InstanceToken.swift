import WakeSystem

/// The random secret of one app instance, made by the app: the only thing that lets anyone read,
/// move or delete its registration.
package struct InstanceToken: Sendable, Equatable {
    package static let byteCount = 32
    /// 32 bytes in base64url without padding.
    package static let textCount = 43

    package let bytes: SecretBytes

    /// - Returns: nil unless 32 bytes with at least 8 distinct ones: others are errors of the app.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.byteCount, Self.looksRandom(bytes) else { return nil }
        self.bytes = SecretBytes(bytes)
    }

    /// Parses 43 characters of canonical base64url.
    package init?(text: Span<UInt8>) {
        guard text.count == Self.textCount, var decoded = Base64URL.decode(text) else { return nil }
        defer { decoded.wipe() }
        guard decoded.count == Self.byteCount, Self.looksRandom(decoded) else { return nil }
        bytes = SecretBytes(decoded)
    }

    /// 43 characters of base64url, for the `Authorization` header.
    package func text() -> SecretBytes {
        var text = bytes.withSpan { Base64URL.encode($0) }
        defer { text.wipe() }
        return SecretBytes(text)
    }

    /// 32 random bytes with fewer than 8 distinct values happen once in 2^130.
    private static func looksRandom(_ bytes: [UInt8]) -> Bool {
        // One bit for each byte value.
        var seen: SIMD4<UInt64> = .zero
        for byte in bytes { seen[Int(byte >> 6)] |= 1 << UInt64(byte & 63) }
        let distinct = (0..<4).reduce(0) { $0 + seen[$1].nonzeroBitCount }
        return distinct >= 8
    }
}

extension InstanceToken: Redacted {
    package var description: String { "(instance token)" }
}
