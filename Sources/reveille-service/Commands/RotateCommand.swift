import WakeCommand
import WakeModel
import WakeServer
import WakeStore

/// `reveille rotate`: registrations that were not renewed expire.
enum RotateCommand {
    static let command = Command(
        "rotate", "drop the registrations that were not renewed, when that is due",
        options: [
            ConfigurationFile.option,
            .init("--now", "although it is not due yet"),
            Confirmation.option,
            .init("--dry-run", "show what would be dropped and when; change nothing"),
            .init("--json", "with --dry-run: as one JSON object"),
        ],
        examples: ["reveille rotate --dry-run", "reveille rotate --now"],
        notes: """
            Clients renew up to 2 days and 8 hours after their last renewal. With --now sooner \
            than that after the last rotation the command says what is lost, and asks; without a \
            terminal it wants --yes. Ctrl-C ends the display, not the rotation.
            """,
        run: { (invocation) async throws(CommandFailure) in try await run(invocation) })

    private static func run(_ invocation: Invocation) async throws(CommandFailure) -> ExitStatus {
        guard invocation.flag("--dry-run") || !invocation.flag("--json") else {
            throw .usage("--json is for --dry-run alone")
        }
        let configuration = try ConfigurationFile.load(invocation)
        let service = RunningService(admin: AdminClient(configuration))
        let status = try service.status()
        if invocation.flag("--dry-run") { return show(status, configuration, invocation) }
        guard invocation.flag("--now") || status.isDue else { return notDue(status) }
        return try await service.rotate(status, invocation)
    }

    /// Asks when clients had no time to renew since the last rotation.
    static func confirm(
        _ status: RotationStatus, _ invocation: Invocation
    ) throws(CommandFailure) {
        guard status.isEarly else { return }
        try Confirmation.require(
            invocation,
            """
            the last rotation was \(duration(status.age)) of running time ago, and clients take up \
            to 2 d 8 h to renew: this drops \(count(status.dropped)) registrations at once, though \
            their apps may still be there, and the \(count(status.kept)) others with the next \
            rotation unless they are renewed before
            """)
    }

    private static func notDue(_ status: RotationStatus) -> ExitStatus {
        Console().out(
            "not due: the next rotation is in \(duration(status.secondsLeft)) of running time; "
                + "--now does it at once")
        return .success
    }

    static func finish(_ status: RotationStatus) -> ExitStatus {
        Console().out(
            "rotated: \(count(status.lastDropped)) registrations expired; "
                + "generation \(status.generation) is current")
        return .success
    }

    private static func show(
        _ status: RotationStatus, _ configuration: Configuration, _ invocation: Invocation
    ) -> ExitStatus {
        let console = Console()
        if invocation.flag("--json") {
            console.out(bytes: AdminJSON.encode(status) + [0x0A])
            return .success
        }
        let due =
            status.isDue
            ? "due" + (status.isRunGoingOn ? ", once the broadcast has ended" : "")
            : "in \(duration(status.secondsLeft)) of running time"
        console.out(
            """
            generation      \(status.generation)
            next rotation   \(due), every \(configuration.rotationDays) days
            would drop      \(count(status.dropped)) registrations
            would keep      \(count(status.kept)) registrations, as previous generation
            """)
        return .success
    }

    /// A number of registrations: exact, or an estimate.
    static func count(_ rows: Int) -> String {
        rows < Limits.surveyRows ? "\(rows)" : "about \(rows)"
    }

    static func duration(_ seconds: Int) -> String {
        let minutes = seconds / 60
        if minutes >= 1440 { return "\(minutes / 1440) d \(minutes % 1440 / 60) h" }
        return minutes >= 60 ? "\(minutes / 60) h \(minutes % 60) min" : "\(minutes) min"
    }
}

/// Rotations by the running service.
private struct RunningService {
    let admin: AdminClient

    func status() throws(CommandFailure) -> RotationStatus {
        try read(try admin.send("GET", "/v1/rotation"))
    }

    /// Asks for a rotation and waits for its end.
    func rotate(
        _ before: RotationStatus, _ invocation: Invocation
    ) async throws(CommandFailure) -> ExitStatus {
        let console = Console()
        var body = ""
        if invocation.flag("--now") {
            try RotateCommand.confirm(before, invocation)
            // Somebody may have registered since: who said yes before is not asked again.
            let isConfirmed = before.isEarly || invocation.flag(Confirmation.option.name)
            body = isConfirmed ? #"{"now":true,"yes":true}"# : #"{"now":true}"#
        }
        let asked = try read(try admin.send("POST", "/v1/rotation", body: body))
        if asked.isRunGoingOn { console.error("waits for the end of the broadcast") }
        TerminationSignal.ends(
            saying: "the rotation continues in the service: `reveille status` shows it")
        while true {
            let status = try await admin.watch(status)
            if status.rotations > before.rotations { return RotateCommand.finish(status) }
            if status.failures > before.failures {
                throw CommandFailure(
                    "not rotated: \(RotationFailure.message(number: status.lastFailure))",
                    hint: "the service tries again every ten minutes")
            }
            try? await Task.sleep(for: .milliseconds(200))
        }
    }

    private func read(_ answer: AdminClient.Answer) throws(CommandFailure) -> RotationStatus {
        guard answer.status == 200 else { throw AdminClient.refused(answer) }
        guard let status: RotationStatus = AdminJSON.decode(answer.body) else {
            throw AdminClient.otherVersion
        }
        return status
    }
}
