import WakeModel
import WakeSystem

/// Holds a log, line by line, against the vocabulary of the policy.
package struct LogCheck {
    private let levels: [String]
    private let logs: [String: [AuditPolicy.Event]]

    package init(_ policy: AuditPolicy) {
        levels = policy.levels
        logs = policy.logs
    }

    /// Each line counts once for each kind.
    package func run(_ log: [UInt8], _ findings: inout AuditFindings) {
        for line in log.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: true) {
            findings.note(.address, if: LeakSearch.holdsAddress(line))
            findings.note(.tokenLike, if: LeakSearch.holdsToken(line))
            if let finding = check(line) { findings.note(finding) }
        }
    }

    /// `PROGRAM LEVEL EVENT name=value ...`, fields in the declared order, one space between.
    private func check(_ line: ArraySlice<UInt8>) -> AuditFinding? {
        let words = String(decoding: line, as: UTF8.self)
            .split(separator: " ", omittingEmptySubsequences: false)
        guard words.count >= 3, let events = logs[String(words[0])],
            levels.contains(String(words[1]))
        else { return .foreignLine }
        guard let event = events.first(where: { $0.name == words[2] }) else {
            return .unknownEvent
        }
        if event.isSentence { return isSentence(words.dropFirst(3)) ? nil : .valueForm }
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

    /// A message for the operator. That it holds no address and no token every line is asked.
    private func isSentence(_ words: ArraySlice<Substring>) -> Bool {
        !words.isEmpty
            && words.allSatisfy { word in
                !word.isEmpty && word.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F }
            }
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
