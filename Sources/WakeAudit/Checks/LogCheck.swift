import WakeModel
import WakeSystem

/// Holds a log, line by line, against the vocabulary of the policy.
package struct LogCheck {
    private let levels: [String]
    private let events: [String: AuditPolicy.Event]

    package init(_ policy: AuditPolicy) {
        levels = policy.levels
        events = Dictionary(policy.events.map { ($0.name, $0) }) { first, _ in first }
    }

    /// Each line counts once for each kind.
    package func run(_ log: [UInt8], _ findings: inout AuditFindings) {
        for line in log.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: true) {
            findings.note(.address, if: LeakSearch.holdsAddress(line))
            findings.note(.tokenLike, if: LeakSearch.holdsToken(line))
            if let finding = check(line) { findings.note(finding) }
        }
    }

    /// `reveille LEVEL EVENT name=value ...`, fields in the declared order, one space between.
    private func check(_ line: ArraySlice<UInt8>) -> AuditFinding? {
        let words = String(decoding: line, as: UTF8.self)
            .split(separator: " ", omittingEmptySubsequences: false)
        guard words.count >= 3, words[0] == "reveille", levels.contains(String(words[1]))
        else { return .foreignLine }
        guard let event = events[String(words[2])] else { return .unknownEvent }
        let given = words.dropFirst(3).map { word in
            word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        }
        guard given.map({ $0.first.map(String.init) }) == event.fields.map(\.name)
        else { return .unknownField }
        for (field, parts) in zip(event.fields, given) {
            guard parts.count == 2, isAllowed(parts[1], field.form) else { return .valueForm }
        }
        return nil
    }

    private func isAllowed(_ value: Substring, _ form: AuditPolicy.Form) -> Bool {
        switch form {
        case .number:
            // No number of ours needs more than the digits of 2^64.
            (1...20).contains(value.utf8.count) && value.utf8.allSatisfy { $0.isDigit }
        case .words(let words):
            value.split(separator: "+", omittingEmptySubsequences: false)
                .allSatisfy { words.contains(String($0)) }
        }
    }
}

/// Finds in a line of text what may name a person's device: network addresses and secrets.
enum LeakSearch {
    /// Dotted quads, colon-separated hexadecimal of IPv6 and of hardware, URLs, mail addresses.
    static func holdsAddress(_ line: ArraySlice<UInt8>) -> Bool {
        if line.contains(UInt8(ascii: "@")) || holds(line, "://") { return true }
        return line.split { !$0.isDigit && $0 != UInt8(ascii: ".") }.contains(where: isQuad)
            || line.split { Hex.value($0) == nil && $0 != UInt8(ascii: ":") }
                .contains(where: isColoned)
    }

    /// 32 and more hexadecimal digits, or 22 and more characters of base64 with capitals, small
    /// letters and digits among them: 16 bytes of a secret are not shorter.
    static func holdsToken(_ line: ArraySlice<UInt8>) -> Bool {
        line.split { Hex.value($0) == nil }.contains { $0.count >= 32 }
            || line.split { !isBase64($0) }.contains { run in
                run.count >= 22 && run.contains { $0.isDigit }
                    && run.contains { $0.isCapital }
                    && run.contains { (0x61...0x7A).contains($0) }
            }
    }

    /// The forms that push services issue: 64 and more hexadecimal digits (APNs), 100 and more
    /// characters of base64 (FCM), an endpoint (Web Push).
    static func holdsPushToken(_ line: ArraySlice<UInt8>) -> Bool {
        holds(line, "https://") || line.split { Hex.value($0) == nil }.contains { $0.count >= 64 }
            || line.split { !isBase64($0) }.contains { $0.count >= 100 }
    }

    private static func isQuad(_ run: ArraySlice<UInt8>) -> Bool {
        let parts = run.split(separator: UInt8(ascii: "."))
        return parts.count >= 4 && parts.allSatisfy { $0.count <= 3 }
    }

    /// `::1` and `2001:db8::`, not the time of day.
    private static func isColoned(_ run: ArraySlice<UInt8>) -> Bool {
        let colons = run.count { $0 == UInt8(ascii: ":") }
        return colons >= 3 || colons == 2 && holds(run, "::")
    }

    /// Of either alphabet (RFC 4648 §4, §5).
    private static func isBase64(_ byte: UInt8) -> Bool {
        byte.isAlphanumeric || [0x2B, 0x2D, 0x2F, 0x5F].contains(byte)
    }

    private static func holds(_ line: ArraySlice<UInt8>, _ text: String) -> Bool {
        let text = Array(text.utf8)
        guard line.count >= text.count else { return false }
        return (line.startIndex...line.endIndex - text.count).contains {
            line[$0..<$0 + text.count].elementsEqual(text)
        }
    }
}
