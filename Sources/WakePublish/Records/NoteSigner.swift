package import WakeFeed
package import WakeModel
import WakeSystem

/// A signer of notes: a log's key, or a witness's.
package struct NoteSigner: Sendable {
    package let name: NoteKeyName
    private let key: SigningKey

    package init(name: NoteKeyName, key: SigningKey) {
        self.name = name
        self.key = key
    }

    /// The key that verifies signatures of one kind.
    package func verifier(_ algorithm: NoteKey.Algorithm) -> NoteKey {
        NoteKey(name: name, algorithm: algorithm, key: key.verifyingKey)
    }

    /// A log's signature of a note's text.
    package func sign(_ text: [UInt8]) -> NoteSignature {
        NoteSignature(
            name: name, keyID: verifier(.ed25519).keyID, bytes: key.sign(text.span))
    }

    /// A witness's signature of a checkpoint's text; `time` in seconds since 1970.
    package func cosign(_ text: [UInt8], time: Int64) -> NoteSignature {
        precondition(time >= 0)
        var bytes: [UInt8] = []
        bytes.append(bigEndian: UInt64(time))
        bytes += key.sign(Cosignature.message(time: UInt64(time), text: text).span)
        return NoteSignature(name: name, keyID: verifier(.cosignature).keyID, bytes: bytes)
    }
}

extension SignedCheckpoint {
    /// A checkpoint that its log signs: under the origin as the key's name, as C2SP recommends.
    package init(_ checkpoint: LogCheckpoint, signedBy log: NoteSigner) {
        self.init(checkpoint) { log.sign($0) }
    }
}
