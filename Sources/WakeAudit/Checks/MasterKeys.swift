import WakeModel
import WakeSystem

/// The service's key file, 120 bytes: `KeyFile`, defined again because ``Audit`` shares no code.
struct MasterKeys {
    /// Masters by the number of their generation.
    let masters: [UInt64: KeyMemory]

    /// The first bytes of a key file.
    static let mark = "RVLLKEYS".utf8
    /// The name of its form in the policy.
    static let kind = "registration"

    /// - Returns: nil when the bytes are no key file.
    init?(_ bytes: [UInt8]) {
        guard bytes.count == 120, bytes.starts(with: Self.mark), bytes[8] == 1,
            bytes.span.extracting(9..<16).isZero,
            Blake2b.hash(bytes.span.extracting(0..<88)) == Array(bytes[88...])
        else { return nil }
        let number: UInt64 = bytes.span.littleEndian(at: 16)
        guard number > 0 else { return nil }
        masters = [
            number: KeyMemory(bytes.span.extracting(24..<56)),
            number - 1: KeyMemory(bytes.span.extracting(56..<88)),
        ]
    }

    /// The generations whose rows the keys open, the older one first.
    var generations: [UInt64] { masters.keys.sorted() }

    func opening(_ generation: UInt64, _ policy: AuditPolicy) -> RowDecryption? {
        masters[generation].map { RowDecryption(master: $0, version: policy.userVersion) }
    }
}

/// Opens rows with the key of their generation and checks their content; nothing of it is kept.
struct RowDecryption {
    private let sealing: KeyMemory
    private let version: UInt8

    /// - Parameter version: of the schema; every row is sealed with it.
    init(master: KeyMemory, version: UInt32) {
        sealing = master.derive(2, context: "rvllseal")
        self.version = UInt8(truncatingIfNeeded: version)
    }

    /// The plaintext: layout 1, service, length of the token in 2 bytes, token, zeros.
    func check(id: Span<UInt8>, sealed: Span<UInt8>, _ findings: inout AuditFindings) {
        let associated = [version] + id.array
        guard var plaintext = SealedBox.open(sealed, associated: associated.span, key: sealing)
        else { return findings.note(.rowDoesNotOpen) }
        defer { plaintext.wipe() }
        guard plaintext.count >= 4, plaintext[0] == 1 else { return findings.note(.rowLayout) }
        let end = 4 + plaintext.span.number16(at: 2)
        guard end <= plaintext.count else { return findings.note(.rowLayout) }
        findings.note(.padding, if: !plaintext.span.extracting(end...).isZero)
        guard let service = PushService(rawValue: plaintext[1])
        else { return findings.note(.unknownService) }
        var token = Array(plaintext[4..<end])
        defer { token.wipe() }
        do throws(PushTokenError) {
            _ = try PushToken(service: service, bytes: token)
        } catch { findings.note(.tokenForm) }
    }
}
