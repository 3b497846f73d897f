import WakeModel
import WakeSystem

@testable import WakeAudit
@testable import WakeStore

/// Key files: the service and the audit, which share no code, read the same of them, of one form;
/// likewise the text of keys.
enum KeyProperty {
    /// - Parameter input: a file, or one whose checksum is added here; also the text of a key.
    static func check(_ input: [UInt8]) throws(Violation) -> Bool {
        let isRaw = try checkFile(input)
        let text = try checkText(input)
        guard input.count == KeyFile.byteCount - 32 else { return isRaw || text }
        return try checkFile(input + Blake2b.hash(input.span))
    }

    private static func checkFile(_ bytes: [UInt8]) throws(Violation) -> Bool {
        let file = try? KeyFile(decoding: bytes)
        let audited = MasterKeys(bytes)
        try require((file == nil) == (audited == nil), "service and audit disagree")
        guard let file, let audited else { return false }
        try require(file.encode() == bytes, "a key file of two forms")
        let masters = [file.generation: file.current, file.generation - 1: file.previous]
        try require(
            audited.masters.mapValues { $0.withSpan { $0.array } }
                == masters.mapValues { $0.withSpan { $0.array } }, "other masters")
        return true
    }

    private static func checkText(_ text: [UInt8]) throws(Violation) -> Bool {
        let decoded = Base64URL.decode(text.span)
        if let decoded {
            try require(Base64URL.encode(decoded.span) == text, "base64url of two forms")
            try require(decoded.count == text.count * 3 / 4, "base64url of another length")
        }
        let digits = Hex.decode(text.span)
        if let digits {
            try require(Hex.encode(digits.span) == text.map(\.lowercased), "other digits")
        }
        return decoded != nil || digits != nil
    }
}
