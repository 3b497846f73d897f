import WakeSystem

/// Secrets that are being added, in one file: its name makes all of them there at once.
struct SecretJournal {
    static let name = ".adding"
    static let mostBytes = 1 << 26
    private static let magic: StaticString = "WAKESA01"

    /// The directory's generation with these secrets.
    let generation: UInt64
    private(set) var secrets: [(name: String, secret: [UInt8])]

    init(generation: UInt64, secrets: [(name: String, secret: [UInt8])]) {
        self.generation = generation
        self.secrets = secrets
    }

    /// For each secret the lengths of name and bytes (1 and 2 bytes), the name and the bytes.
    func encode() -> [UInt8] {
        let counts = secrets.map { 3 + $0.name.utf8.count + $0.secret.count }
        var bytes = Self.magic.bytes
        // Growing would leave copies behind.
        bytes.reserveCapacity(16 + counts.reduce(0, +))
        bytes.append(littleEndian: generation)
        for (name, secret) in secrets {
            bytes.append(UInt8(name.utf8.count))
            bytes.append(littleEndian: UInt16(secret.count))
            bytes += name.utf8
            bytes += secret
        }
        return bytes
    }

    init?(decoding bytes: Span<UInt8>) {
        guard bytes.count >= 16, bytes.extracting(0..<8).equals(Self.magic) else { return nil }
        generation = bytes.littleEndian(at: 8)
        secrets = []
        var offset = 16
        while offset < bytes.count {
            guard bytes.count - offset >= 3 else { return nil }
            let nameEnd = offset + 3 + Int(bytes[offset])
            let end = nameEnd + Int(bytes.littleEndian(at: offset + 1, as: UInt16.self))
            guard end <= bytes.count else { return nil }
            let name = bytes.extracting(offset + 3..<nameEnd).array
            secrets.append(
                (String(decoding: name, as: UTF8.self), bytes.extracting(nameEnd..<end).array))
            offset = end
        }
    }
}
