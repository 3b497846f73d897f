import WakeAudit
import WakeCommand
import WakeModel
import WakeServer
import WakeSystem

/// `reveille audit`: checks a database against the privacy policy, beside the service or elsewhere.
enum AuditCommand {
    static let command = Command(
        "audit", "check that a store holds what the policy says and nothing else",
        operands: [
            .init(
                "DIRECTORY", "of the store, e.g. /var/lib/reveille/data; it is only read",
                .optional)
        ],
        options: [
            .init("--policy", value: "FILE", "privacy.json to check against (default: built in)"),
            .init(
                "--keys", value: "PATH",
                "the key file: opens every row and checks its contents; or the directory with all "
                    + "key files, each of which is checked as well"),
            .init("--logs", value: "FILE|-", "lines of the log: nothing but declared events"),
            .init(
                "--program", value: "FILE",
                "instead: compare this program, such as one you have built yourself, with the one "
                    + "that the running service says it is"),
            .init("--json", "one JSON object instead of lines"),
            .init("--tell", "report the verdict to the running service: its page shows it"),
            ConfigurationFile.option,
        ],
        examples: [
            "reveille audit /var/lib/reveille/data",
            "reveille audit copy --json",
            "reveille audit /var/lib/reveille/data --tell",
            "reveille audit --program /usr/bin/reveille",
            "journalctl _SYSTEMD_UNIT=reveille.service -o cat | reveille audit DIR --logs -",
        ],
        notes: """
            It works next to a running service, which waits for it at most a quarter of a second at
            a time. If the service writes meanwhile, there is no SHA-256, and SQLite's own check is
            not asked; a rotation or a restart makes the audit start over, five times at most. A
            copy is one of the whole directory, mode 0700: any file that is not declared is
            reported. It needs no keys.

            --tell hands the verdict and the SHA-256 of the files, if any, the older one first, no
            date, to the service that runs here (its admin socket is found by --config); GET /
            shows them until it is restarted. When it cannot be reached, a clean audit ends with
            75.

            --program asks the service that runs here for the SHA-256 of its program, and compares
            it with the file's; GET /v1/policy tells the public the same. Deploy/reproduce builds
            the program of a commit. That the answer is true only the machine's owner can know.

            exit status: 0 clean or the same, 3 violations or another program, 4 not audited
            """,
        run: { (invocation) async throws(CommandFailure) in try run(invocation) })

    /// Bytes of a log that are read at most.
    private static let logBytes = 1 << 28

    private static func run(_ invocation: Invocation) throws(CommandFailure) -> ExitStatus {
        if let program = invocation.value("--program") {
            return try compare(program, invocation)
        }
        guard let directory = invocation.operands.first else {
            throw .usage("which store? DIRECTORY is missing", hint: "or --program FILE")
        }
        let console = Console()
        let service = try service(invocation)
        let policy = try policy(invocation)
        let log = try log(invocation)
        let audit = Audit(
            path: directory, policy: policy, keyFile: invocation.value("--keys"),
            log: log)
        let report = try mapError(failure) { () throws(AuditFailure) in
            defer { console.endProgress() }
            return try audit.run { check, permille in
                console.progress("\(check.word) \(permille / 10) %")
            }
        }
        if invocation.flag("--json") {
            console.out(bytes: report.json(program: "reveille \(Release.version)"))
        } else {
            console.out(report.text, terminator: "")
        }
        do throws(CommandFailure) {
            if let service { try send(report, to: service) }
        } catch {
            // Violations count more than a service that cannot be reached.
            if report.isClean { throw error }
            console.error("reveille: \(error.message)")
        }
        return report.isClean ? .success : .violations
    }

    /// The running service, with `--tell`.
    private static func service(_ invocation: Invocation) throws(CommandFailure) -> AdminClient? {
        guard invocation.flag("--tell") else { return nil }
        guard invocation.value("--policy") == nil else {
            throw .usage(
                "--tell and --policy exclude each other",
                hint: "the page shows verdicts against the policy it shows")
        }
        return AdminClient(try ConfigurationFile.load(invocation))
    }

    private static func send(
        _ report: AuditReport, to service: AdminClient
    ) throws(CommandFailure) {
        let notClean = AuditCheck.allCases.count {
            [.violation, .notLooked].contains(report.verdict(of: $0))
        }
        let verdict = AuditVerdict(violations: notClean, fileHash: report.facts.fileHash)
        let unreported = { (failure: CommandFailure) in
            CommandFailure(
                "the audit is done, but could not be reported: \(failure.message)",
                hint: failure.hint, status: failure.status)
        }
        let body = String(decoding: verdict.encode(), as: UTF8.self)
        let answer = try mapError(unreported, try service.send("PUT", "/v1/audit", body: body))
        guard answer.status == 204 else {
            throw CommandFailure(
                "the audit is done, but the service refused the report: status \(answer.status)",
                hint: "is it of this version?")
        }
        Console().error("reported to the service; GET / shows it")
    }

    /// Compares a program's file with the hash that the running service names.
    private static func compare(
        _ path: String, _ invocation: Invocation
    ) throws(CommandFailure) -> ExitStatus {
        let others = ["--policy", "--keys", "--logs"].filter { invocation.value($0) != nil }
        guard invocation.operands.isEmpty, others.isEmpty, !invocation.flag("--tell") else {
            throw .usage("--program goes with --config and --json alone")
        }
        let hash = try mapError({ CommandFailure(path, $0, .notAudited) }) {
            () throws(FileError) in try ProgramIdentity.hash(of: path)
        }
        let answer = try AdminClient(try ConfigurationFile.load(invocation)).get("/v1/program")
        guard let running = try? JSONValue(parsing: answer), !running["version"].text.isEmpty else {
            throw AdminClient.otherVersion
        }
        let claimed = running["sha256"].text
        guard !claimed.isEmpty else {
            throw CommandFailure(
                "the service has not read its program yet, or cannot", hint: "try again",
                status: .transient)
        }
        let isSame = claimed == hash
        let console = Console()
        if invocation.flag("--json") {
            console.json { text in
                text.member("same", bool: isSame)
                text.member("sha256", string: hash)
                text.member("running", string: claimed)
            }
        } else {
            let commit = running["commit"].text
            let changes = running["changed"] == .bool(true) ? ", with changes" : ""
            console.out(
                """
                \(path)
                  sha256   \(hash)
                the running service
                  sha256   \(claimed)
                  version  \(running["version"].text)
                  commit   \(commit.isEmpty ? "unknown" : commit + changes)
                \(isSame ? "the same program" : "another program")
                """)
        }
        return isSame ? .success : .violations
    }

    private static func policy(_ invocation: Invocation) throws(CommandFailure) -> AuditPolicy {
        let document = try invocation.value("--policy").map { path throws(CommandFailure) in
            try Console().contents(of: path, limit: 1 << 20, status: .notAudited)
        }
        return try mapError(failure, try AuditPolicy(document ?? PrivacyPolicy.document))
    }

    private static func log(_ invocation: Invocation) throws(CommandFailure) -> [UInt8]? {
        try invocation.value("--logs").map { path throws(CommandFailure) in
            try Console().contents(of: path, limit: logBytes, status: .notAudited)
        }
    }

    private static func failure(_ failure: AuditFailure) -> CommandFailure {
        CommandFailure(lines: failure.message, status: .notAudited)
    }
}
