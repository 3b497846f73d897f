import WakeModel
import WakeSodium

/// Opens rows with the key of their generation and looks at what is in them. Nothing of it is kept.
struct RowOpening {
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
        guard
            var plaintext = SealedBox.open(sealed, associated: associated.span, key: sealing)
        else { return findings.note(.rowDoesNotOpen) }
        defer { wipe(&plaintext) }
        guard plaintext.count >= 4, plaintext[0] == 1 else { return findings.note(.rowLayout) }
        let end = 4 + plaintext.span.number16(at: 2)
        guard end <= plaintext.count else { return findings.note(.rowLayout) }
        findings.note(.padding, if: !plaintext.span.extracting(end...).isZero)
        guard let service = PushService(rawValue: plaintext[1]) else {
            return findings.note(.unknownService)
        }
        var token = Array(plaintext[4..<end])
        defer { wipe(&token) }
        do throws(PushTokenError) {
            _ = try PushToken(service: service, bytes: token)
        } catch {
            findings.note(.tokenForm)
        }
    }
}
