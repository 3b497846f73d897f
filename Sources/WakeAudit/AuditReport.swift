import WakeModel

package struct AuditReport: Sendable {
    /// The outcome of one check; the raw value is its name in the JSON.
    package enum Verdict: String, Sendable {
        case ok
        case violation
        /// The file is too broken to look.
        case notLooked = "not-looked"
        /// It takes a file that was not given, or files that nothing writes to.
        case notAsked = "not-asked"
    }

    package let facts: AuditFacts
    package let findings: AuditFindings
    package let policyHash: String
    let unseen: Set<AuditCheck>
    let unasked: Set<AuditCheck>

    package var isClean: Bool { findings.isEmpty && unseen.isEmpty }

    package func verdict(of check: AuditCheck) -> Verdict {
        if !findings.found(in: check).isEmpty { return .violation }
        if unasked.contains(check) { return .notAsked }
        return unseen.contains(check) ? .notLooked : .ok
    }

    /// For people: a line a check.
    package var text: String {
        var text = ""
        for check in AuditCheck.allCases {
            let verdict = self.verdict(of: check)
            let found = findings.found(in: check).map { "\($0.finding.rawValue) \($0.count)" }
            text += Self.row(
                verdict == .violation ? "VIOLATION" : verdict.rawValue.replacing("-", with: " "),
                check.word)
            text += found.isEmpty ? note(on: check) : found.joined(separator: ", ")
            while text.last == " " { text.removeLast() }
            text += "\n"
        }
        let hash = fileHashText.isEmpty ? "none: the service wrote meanwhile" : fileHashText
        text += Self.row("sha256", "") + hash + "\n"
        text += Self.row("policy", "") + policyHash + "\n"
        return text + (isClean ? "clean\n" : "NOT CLEAN\n")
    }

    private static func row(_ first: String, _ second: String) -> String {
        func padded(_ word: String) -> String {
            word + String(repeating: " ", count: max(0, 12 - word.count))
        }
        return padded(first) + (second.isEmpty ? "" : padded(second))
    }

    private func note(on check: AuditCheck) -> String {
        switch (check, verdict(of: check)) {
        case (.pages, .ok): "\(facts.pages) pages, \(facts.freePages) of them free"
        case (.rows, .ok): facts.rows.map { "\($0.count) in \($0.table)" }.joined(separator: ", ")
        case (.chance, .ok):
            facts.fewRows.isEmpty
                ? "" : "too few rows to judge columns: " + facts.fewRows.joined(separator: ", ")
        case (.integrity, .notAsked): "the service wrote meanwhile; pages and rows say the same"
        case (.keys, .notAsked): "needs --keys"
        case (.logs, .notAsked): "needs --logs"
        default: ""
        }
    }

    package var fileHashText: String {
        String(decoding: Hex.encode(facts.fileHash.span), as: UTF8.self)
    }

    /// One object on one line, for programs; members may be added. `program`: its name and version.
    package func json(program: String) -> [UInt8] {
        var text = JSONText(capacity: 4096)
        text.beginObject()
        text.member("schema", string: "reveille-audit-1")
        text.member("program", string: program)
        text.member("verdict", string: isClean ? "ok" : "violation")
        text.member("sha256", string: fileHashText)
        text.member("policy", string: policyHash)
        text.member("bytes", number: facts.bytes)
        text.member("pages", number: facts.pages)
        text.member("free_pages", number: facts.freePages)
        text.member("rows", raw: Self.object(facts.rows.map { ($0.table, $0.count) }))
        let few = facts.fewRows.map { "\"\($0)\"" }.joined(separator: ",")
        text.member("few_rows", raw: "[" + few + "]")
        let checks = AuditCheck.allCases.map { check in
            var text = JSONText()
            text.beginObject()
            text.member("number", number: check.rawValue)
            text.member("check", string: check.word)
            text.member("verdict", string: verdict(of: check).rawValue)
            let found = findings.found(in: check).map { ($0.finding.rawValue, $0.count) }
            text.member("findings", raw: Self.object(found))
            text.endObject()
            return String(decoding: text.bytes, as: UTF8.self)
        }
        text.member("checks", raw: "[" + checks.joined(separator: ",") + "]")
        text.endObject()
        return text.bytes + [UInt8(ascii: "\n")]
    }

    /// Names are words of ours: nothing needs escaping.
    private static func object(_ members: [(String, Int)]) -> String {
        "{" + members.map { "\"\($0.0)\":\($0.1)" }.joined(separator: ",") + "}"
    }
}
