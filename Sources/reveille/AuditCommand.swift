import WakeAudit
import WakeCommand
import WakeFiles
import WakeServer

/// `reveille audit`: checks a database against the privacy policy, beside the service or elsewhere.
enum AuditCommand {
    static let command = Command(
        "audit", "check that a database holds what the policy says and nothing else",
        operands: [.init("FILE", "the database, e.g. data/registrations.db; it is only read")],
        options: [
            .init("--policy", value: "FILE", "privacy.json to check against (default: built in)"),
            .init("--keys", value: "FILE", "the key file: opens every row and looks inside"),
            .init("--logs", value: "FILE|-", "lines the service said: nothing but declared events"),
            .init("--json", "one JSON object instead of lines"),
            .init("--tell", "then tell the running service what was found: its page shows it"),
            ConfigurationFile.option,
        ],
        examples: [
            "reveille audit /var/lib/reveille/data/registrations.db",
            "reveille audit copy/registrations.db --json",
            "reveille audit /var/lib/reveille/data/registrations.db --tell",
            "journalctl _SYSTEMD_UNIT=reveille.service -o cat | reveille audit FILE --logs -",
        ],
        notes: """
            No locks are taken, so it works beside a running service; if that writes meanwhile, the
            audit starts over, and gives up after three times. A copy should lie alone in a
            directory of its own: whatever else lies there is reported. It needs no keys.

            --tell hands the verdict and the SHA-256 of the file, no date, to the service that runs
            here (its admin socket is found by --config); GET / shows them until it is restarted.
            When the service cannot be told, a clean audit ends with 75.

            exit status: 0 clean, 3 violations, 4 could not look
            """,
        run: { (invocation) async throws(CommandFailure) in try run(invocation) })

    /// Bytes of a log that are read at most.
    private static let logBytes = 1 << 28

    private static func run(_ invocation: Invocation) throws(CommandFailure) -> ExitStatus {
        let console = Console()
        let service = try service(invocation)
        let policy = try policy(invocation)
        let log = try log(invocation)
        let report: AuditReport
        do throws(AuditFailure) {
            let audit = Audit(
                path: invocation.operands[0], policy: policy, keyFile: invocation.value("--keys"),
                log: log)
            report = try audit.run { check, permille in
                console.progress("\(check.word) \(permille / 10) %")
            }
        } catch {
            console.endProgress()
            throw failure(error)
        }
        console.endProgress()
        if invocation.flag("--json") {
            console.out(bytes: report.json(program: "reveille \(Main.version)"))
        } else {
            console.out(report.text, terminator: "")
        }
        guard let service else { return report.isClean ? .success : .violations }
        do throws(CommandFailure) {
            try tell(service, of: report)
        } catch {
            // What was found counts more than who was told.
            guard report.isClean else {
                console.error("reveille: \(error.message)")
                return .violations
            }
            throw error
        }
        return report.isClean ? .success : .violations
    }

    /// The running service, when it is to be told.
    private static func service(
        _ invocation: Invocation
    ) throws(CommandFailure) -> AdminClient? {
        guard invocation.flag("--tell") else { return nil }
        guard invocation.value("--policy") == nil else {
            throw CommandFailure(
                "--tell and --policy exclude each other",
                hint: "people are told of audits against the policy they are shown",
                status: .usage)
        }
        return AdminClient(address: try ConfigurationFile.load(invocation).admin)
    }

    private static func tell(
        _ service: AdminClient, of report: AuditReport
    ) throws(CommandFailure) {
        let notClean = AuditCheck.allCases.count {
            [.violation, .notLooked].contains(report.verdict(of: $0))
        }
        let verdict = AuditVerdict(violations: notClean, fileHash: report.facts.fileHash)
        let answer: AdminClient.Answer
        do throws(CommandFailure) {
            answer = try service.send(
                "PUT", "/v1/audit", body: String(decoding: verdict.encode(), as: UTF8.self))
        } catch {
            throw CommandFailure(
                "the audit is done, but could not be told: \(error.message)", hint: error.hint,
                status: error.status)
        }
        guard answer.status == 204 else {
            throw CommandFailure(
                "the audit is done, but the service refused to be told: status \(answer.status)",
                hint: "is it of this version?")
        }
        Console().error("told the service; GET / shows it")
    }

    private static func policy(_ invocation: Invocation) throws(CommandFailure) -> AuditPolicy {
        var document = PrivacyPolicy.document
        if let path = invocation.value("--policy") {
            document = try read(path, limit: 1 << 20)
        }
        do throws(AuditFailure) {
            return try AuditPolicy(document)
        } catch {
            throw failure(error)
        }
    }

    private static func log(_ invocation: Invocation) throws(CommandFailure) -> [UInt8]? {
        guard let path = invocation.value("--logs") else { return nil }
        if path == "-" { return try Console().input(limit: logBytes) }
        return try read(path, limit: logBytes)
    }

    private static func read(_ path: String, limit: Int) throws(CommandFailure) -> [UInt8] {
        do throws(FileError) {
            return try Files.readGiven(path, limit: limit)
        } catch {
            throw CommandFailure("\(path): \(error.reason)", status: .notAudited)
        }
    }

    private static func failure(_ failure: AuditFailure) -> CommandFailure {
        let lines = failure.message.split(separator: "\nhint: ", maxSplits: 1).map(String.init)
        return CommandFailure(
            lines[0], hint: lines.count > 1 ? lines[1] : nil, status: .notAudited)
    }
}
