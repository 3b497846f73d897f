import WakeCommand

/// What `doctor` says of one thing: closed words and numbers, no address, token or secret.
struct Finding {
    enum Level: Int {
        case ok, warning, failed

        var word: String {
            switch self {
            case .ok: "ok"
            case .warning: "warning"
            case .failed: "failed"
            }
        }
    }

    /// Letters and hyphens; scripts look for it.
    let subject: String
    let level: Level
    let text: String
    let hint: String?
    /// What a failure says by exit status: whether waiting may help, or somebody must act.
    let status: ExitStatus

    static func ok(_ subject: String, _ text: String) -> Finding {
        Finding(subject: subject, level: .ok, text: text, hint: nil, status: .success)
    }

    static func warning(_ subject: String, _ text: String, hint: String?) -> Finding {
        Finding(subject: subject, level: .warning, text: text, hint: hint, status: .success)
    }

    static func failed(
        _ subject: String, _ text: String, hint: String?, status: ExitStatus = .configuration
    ) -> Finding {
        Finding(subject: subject, level: .failed, text: text, hint: hint, status: status)
    }

    /// The worst of all: 78 when somebody must act, 75 when waiting may help.
    static func status(of findings: [Finding]) -> ExitStatus {
        let statuses = findings.map(\.status)
        if statuses.contains(.configuration) { return .configuration }
        return statuses.contains(.transient) ? .transient : .success
    }

    // MARK: Output

    static func text(_ findings: [Finding]) -> String {
        findings.map { finding in
            let level = finding.level.word.padded(to: 9)
            let line = level + finding.subject.padded(to: 17) + finding.text
            return finding.hint.map { "\(line)\n         hint: \($0)" } ?? line
        }.joined(separator: "\n")
    }

    /// `{"worst":…,"checks":[{"check":…,"level":…,"text":…,"hint":…}]}`
    static func json(_ findings: [Finding]) -> String {
        let worst = findings.map(\.level).max { $0.rawValue < $1.rawValue } ?? .ok
        let checks = findings.map { finding in
            let hint = finding.hint.map(quoted) ?? "null"
            return "{\"check\":\"\(finding.subject)\",\"level\":\"\(finding.level.word)\","
                + "\"text\":\(quoted(finding.text)),\"hint\":\(hint)}"
        }
        return "{\"worst\":\"\(worst.word)\",\"checks\":[\(checks.joined(separator: ","))]}"
    }

    private static func quoted(_ text: String) -> String {
        String(decoding: ConsoleHandler.json(Array(text.utf8)), as: UTF8.self)
    }
}

extension String {
    /// With spaces behind it, at least one.
    fileprivate func padded(to width: Int) -> String {
        self + String(repeating: " ", count: max(1, width - count))
    }
}
