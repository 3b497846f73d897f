package import WakeFeed
package import WakeModel
import WakeSystem

/// The name and public key of a witness, in the file `identity`. The key that signs lies beside it.
struct WitnessIdentity: StateRecord, Equatable {
    static let format: StaticString = "witness-identity"
    static let version = 1
    static let byteLimit = 4_096

    /// A verifier key of C2SP tlog-cosignature.
    let key: NoteKey

    func encode(to state: inout JSONText) { state.member("key", string: key.text) }

    init(key: NoteKey) { self.key = key }

    init(decoding state: inout StateObject) throws(StateDamage) {
        guard let key = NoteKey(try state.text("key")), key.algorithm == .cosignature
        else { throw StateDamage() }
        self.key = key
    }
}

/// A log whose checkpoints a witness cosigns.
package struct WitnessedLog: Sendable, Hashable {
    /// The first line of its checkpoints.
    package let origin: [UInt8]
    /// Keys whose signature counts, at least one; the log's former and next one while it changes
    /// them.
    package let keys: [NoteKey]

    /// SHA-256 of the origin, hexadecimal: the log's name in paths (C2SP tlog-witness, "Monitor
    /// Retrieval Mechanism").
    package var identifier: String { Self.identifier(of: origin) }

    package static func identifier(of origin: [UInt8]) -> String {
        String(decoding: Hex.encode(SHA256.hash(origin.span).span), as: UTF8.self)
    }

    package var label: String { String(decoding: origin, as: UTF8.self) }
}

/// The logs of a witness, in the file `logs`, in the order in which they were added.
package struct WitnessedLogs: StateRecord, Equatable {
    package static let format: StaticString = "witness-logs"
    package static let version = 1
    package static let byteLimit = 1 << 20
    /// Keys at most, of all logs.
    package static let keyLimit = 1_000
    /// Bytes of an origin.
    package static let originLimit = 255

    package private(set) var logs: [WitnessedLog] = []

    package init() {}

    package func log(_ origin: [UInt8]) -> WitnessedLog? { logs.first { $0.origin == origin } }

    /// Adds a log, or a key to one that is there.
    package mutating func add(_ key: NoteKey, origin: [UInt8]) throws(WitnessedLogsFault) {
        guard key.key != nil else { throw .algorithm }
        guard Self.isOrigin(origin) else { throw .origin }
        guard logs.reduce(0, { $0 + $1.keys.count }) < Self.keyLimit else { throw .tooMany }
        guard let place = logs.firstIndex(where: { $0.origin == origin }) else {
            logs.append(WitnessedLog(origin: origin, keys: [key]))
            return
        }
        guard !logs[place].keys.contains(key) else { throw .isThere }
        logs[place] = WitnessedLog(origin: origin, keys: logs[place].keys + [key])
    }

    /// A line of a checkpoint.
    private static func isOrigin(_ origin: [UInt8]) -> Bool {
        (1...originLimit).contains(origin.count) && origin.allSatisfy { $0 >= 0x20 }
            && String(validating: origin, as: UTF8.self) != nil
    }

    package func encode(to state: inout JSONText) {
        state.beginArray("keys")
        for log in logs {
            for key in log.keys {
                state.beginObject()
                state.member("origin", string: log.origin.span)
                state.member("key", string: key.text)
                state.endObject()
            }
        }
        state.endArray()
    }

    package init(decoding state: inout StateObject) throws(StateDamage) {
        for var entry in try state.objects("keys") {
            let origin = try entry.text("origin")
            guard let key = NoteKey(try entry.text("key")), entry.isEmpty,
                (try? add(key, origin: origin)) != nil
            else { throw StateDamage() }
        }
    }
}

/// A reason to refuse a log's key.
package enum WitnessedLogsFault: Error, Equatable, Sendable {
    /// Not Ed25519: this program could not verify its signatures.
    case algorithm
    /// No line of at most 255 bytes.
    case origin
    case tooMany
    case isThere
}

/// The latest checkpoint of a log that a witness cosigned, in a file of `checkpoints`: all that it
/// has to remember of the log.
package struct CosignedCheckpoint: StateRecord, Equatable {
    package static let format: StaticString = "witness-checkpoint"
    package static let version = 1
    /// More than a note with its signatures is as an escaped string.
    package static let byteLimit = 256 << 10

    package let origin: [UInt8]
    /// The size and root of the log's tree; of the empty tree before the first cosignature.
    package let size: UInt64
    package let root: TreeHash
    /// Seconds since 1970 of the cosignature, 0 before the first one.
    package let time: Int64
    /// The checkpoint with the log's signature and ours; nil before the first cosignature.
    package let note: SignedNote?

    /// A log of which nothing was cosigned.
    package init(origin: [UInt8]) {
        self.origin = origin
        size = 0
        root = MerkleTree.emptyRoot
        time = 0
        note = nil
    }

    /// - Parameter note: of the checkpoint, with the cosignature as the last signature.
    init(_ checkpoint: LogCheckpoint, time: Int64, note: SignedNote) {
        origin = checkpoint.origin
        size = checkpoint.size
        root = checkpoint.root
        self.time = time
        self.note = note
    }

    package func encode(to state: inout JSONText) {
        state.member("origin", string: origin.span)
        state.member("size", number: size)
        state.member("root", hex: root.bytes)
        state.member("time", number: time)
        if let note { state.member("note", string: note.bytes.span) }
    }

    package init(decoding state: inout StateObject) throws(StateDamage) {
        let origin = try state.text("origin")
        let size = try state.unsigned("size")
        guard let root = TreeHash(try state.hex("root", count: TreeHash.count))
        else { throw StateDamage() }
        let time = Int64(try state.integer("time", in: 0...1 << 53))
        guard state.contains("note") else {
            self.init(origin: origin)
            guard size == self.size, root == self.root, time == 0 else { throw StateDamage() }
            return
        }
        guard let note = SignedCheckpoint(try state.text("note")) else { throw StateDamage() }
        self.init(note.checkpoint, time: time, note: note.note)
        guard note.checkpoint.origin == origin, size == self.size, root == self.root
        else { throw StateDamage() }
    }

    /// The signature line of this witness.
    var cosignature: NoteSignature? { note?.signatures.last }

    /// Whether the note says what the record says, in a cosignature of this key: what was changed
    /// by accident, or belongs to another witness, is found.
    func isCosigned(by key: NoteKey) -> Bool {
        guard let note, let cosignature else { return true }
        return key.matches(cosignature) && key.verify(cosignature, of: note.text)?.time == time
    }
}
