import WakeModel
import WakeSystem

/// A gateway's key: what is in its file. The ciphers belong to it, so that its configuration, which
/// feeds name by a hash, does not change with the libraries of a machine.
package struct ObliviousKey: Sendable {
    package let configuration: KeyConfiguration
    let pair: AgreementKey

    private static let version: UInt8 = 1
    private static let secretBytes = AgreementKey.byteCount
    /// A version, the key's number, bits for the ciphers, the secret; base64url.
    package static let characters = 47

    /// - Parameter secret: 32 bytes.
    package init(id: UInt8, secret: Span<UInt8>, ciphers: [HPKECipher]) {
        pair = AgreementKey(secret: secret)
        configuration = KeyConfiguration(id: id, publicKey: pair.publicKey, ciphers: ciphers)
    }

    /// The line of a new file, which its owner wipes. The number is random: a gateway may have keys
    /// of one number, and tries each.
    package static func newLine(
        ciphers: [HPKECipher] = HPKECipher.offered, random: (Int) -> [UInt8] = Sodium.random
    ) -> [UInt8] {
        var bytes = random(1 + secretBytes)
        let bits = ciphers.reduce(0) { $0 | UInt8(1) << UInt8($1.rawValue) }
        bytes.insert(contentsOf: [version], at: 0)
        bytes.insert(bits, at: 2)
        defer { bytes.wipe() }
        return Base64URL.encode(bytes.span) + [UInt8(ascii: "\n")]
    }

    /// - Parameter line: the contents of a file.
    /// - Returns: nil when it is not of the form that `newLine` gives it.
    package init?(line: Span<UInt8>) {
        let count =
            line.count > 0 && line[line.count - 1] == UInt8(ascii: "\n")
            ? line.count - 1 : line.count
        guard count == Self.characters,
            var bytes = Base64URL.decode(line.extracting(0..<count))
        else { return nil }
        defer { bytes.wipe() }
        let ciphers = HPKECipher.order.filter { bytes[2] >> UInt8($0.rawValue) & 1 == 1 }
        guard bytes.count == 3 + Self.secretBytes, bytes[0] == Self.version, !ciphers.isEmpty
        else { return nil }
        self.init(id: bytes[1], secret: bytes.span.extracting(3..<bytes.count), ciphers: ciphers)
    }
}

extension HPKECipher {
    /// The preferred one first: it takes the same time on every machine.
    static let order: [HPKECipher] = [.chaCha20Poly1305, .aes128GCM]

    /// Those of a new key on this machine.
    package static var offered: [HPKECipher] { order.filter(\.isAvailable) }
}

extension ObliviousKey: Redacted {}
