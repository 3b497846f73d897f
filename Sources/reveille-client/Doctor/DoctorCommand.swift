import Reveille
import WakeCommand
import WakeSystem

let doctorCommand = Command(
    "doctor", "check everything this client needs, and explain what to do",
    options: [.init("--json", "as JSON")] + Profile.options,
    examples: ["reveille-client doctor", "reveille-client doctor --json --profile work"],
    notes: """
        It changes nothing and may be used beside a running client. It makes the
        requests that every client makes: the feed's head with its proof, its keys
        where they are not known yet, and the event stream; with a relay of
        registrations another one through that, about an instance token that no
        client has. Exit status 75 says that waiting may help, 78 that you must act;
        warnings alone end with 0.
        """
) { invocation throws(CommandFailure) in
    let findings = await examine(try Profile(invocation))
    Console().out(invocation.flag("--json") ? Finding.json(findings) : Finding.text(findings))
    return Finding.status(of: findings)
}

/// Examines one profile, from its files outwards; checks that depend on a failed one are left out.
private func examine(_ profile: Profile) async -> [Finding] {
    let configuration: ClientConfiguration
    do throws(CommandFailure) {
        configuration = try profile.configuration()
    } catch {
        let finding = Finding.failed("configuration", error.message, hint: error.hint)
        return [finding, NetworkChecks.library()]
    }
    var findings = [Finding.ok("configuration", summary(of: configuration))]
    findings += ProfileChecks(profile: profile).findings(configuration)
    let diagnostics: ProfileDiagnostics
    do throws(ClientError) {
        diagnostics = try ProfileDiagnostics(configuration)
    } catch {
        return findings + [.failed("state", error), NetworkChecks.library()]
    }
    let state = StateChecks(diagnostics: diagnostics, configuration: configuration)
    findings += state.findings()
    if diagnostics.stateVersion != nil { findings += await state.pushes(profile) }
    findings += await NetworkChecks.findings(diagnostics, configuration)
    findings += await DesktopChecks.session()
    return findings + (await DesktopChecks.units())
}

/// The configuration without addresses.
private func summary(of configuration: ClientConfiguration) -> String {
    var parts = [
        "a feed", configuration.service == nil ? "no service" : "a service",
        configuration.channel == .stream ? "woken by the event stream" : "polling",
    ]
    if configuration.oblivious != nil { parts.append("registered through a relay") }
    if configuration.proxy != nil { parts.append("all through a proxy") }
    if configuration.dailyByteBudget != nil { parts.append("metered") }
    return parts.joined(separator: ", ")
}

/// The result of one check: fixed words and numbers, no address, token or secret.
struct Finding {
    enum Level: String { case ok, warning, failed }

    /// Letters and hyphens; scripts look for it.
    let subject: String
    let level: Level
    let text: String
    var hint: String?
    /// Of a failure: `transient` when waiting may help, else `configuration`.
    var status = ExitStatus.success

    static func ok(_ subject: String, _ text: String) -> Finding {
        Finding(subject: subject, level: .ok, text: text)
    }

    static func warning(_ subject: String, _ text: String, hint: String?) -> Finding {
        Finding(subject: subject, level: .warning, text: text, hint: hint)
    }

    static func failed(
        _ subject: String, _ text: String, hint: String?, status: ExitStatus = .configuration
    ) -> Finding {
        Finding(subject: subject, level: .failed, text: text, hint: hint, status: status)
    }

    static func failed(_ subject: String, _ error: ClientError) -> Finding {
        let failure = CommandFailure(error)
        return .failed(
            subject, failure.message, hint: failure.hint,
            status: error.isTransient ? .transient : .configuration)
    }

    /// Of what is tried again: a warning while waiting may help, else a failure.
    static func of(
        _ failure: ClientError?, _ subject: String, _ text: String, hint: String
    ) -> Finding {
        guard let failure else { return .warning(subject, text, hint: hint) }
        let (text, hint) = ("\(text): \(failure.phrase)", failure.hint ?? hint)
        return failure.isTransient
            ? .warning(subject, text, hint: hint) : .failed(subject, text, hint: hint)
    }

    /// The worst of all: 78 when somebody must act, 75 when waiting may help.
    static func status(of findings: [Finding]) -> ExitStatus {
        let statuses = findings.map(\.status)
        if statuses.contains(.configuration) { return .configuration }
        return statuses.contains(.transient) ? .transient : .success
    }

    static func text(_ findings: [Finding]) -> String {
        findings.map { finding in
            let level = finding.level.rawValue.padded(to: 9)
            let line = level + finding.subject.padded(to: 17) + finding.text
            return finding.hint.map { "\(line)\n         hint: \($0)" } ?? line
        }.joined(separator: "\n")
    }

    /// `{"worst":…,"checks":[{"check":…,"level":…,"text":…,"hint":…}]}`
    static func json(_ findings: [Finding]) -> String {
        let levels = findings.map(\.level)
        let worst = [Level.failed, .warning].first(where: levels.contains) ?? .ok
        let checks = findings.map { finding in
            let hint = finding.hint.map(quoted) ?? "null"
            return "{\"check\":\"\(finding.subject)\",\"level\":\"\(finding.level.rawValue)\","
                + "\"text\":\(quoted(finding.text)),\"hint\":\(hint)}"
        }
        return "{\"worst\":\"\(worst.rawValue)\",\"checks\":[\(checks.joined(separator: ","))]}"
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
