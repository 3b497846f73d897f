import WakeCommand
import WakeHTTP
import WakeServer
import WakeSystem

/// `reveille witness serve`: the daemon of a witness.
enum WitnessServeCommand {
    static let command = Command(
        "witness serve", "cosign what logs submit, until SIGTERM",
        options: [
            .init(
                "--listen", value: "ADDRESS",
                "HOST:PORT or unix:PATH, behind a front with TLS (default: 127.0.0.1:8091)"),
            .init(
                "--proxy-protocol",
                "connections begin with a PROXY protocol v2 header, which tells clients apart"),
            WitnessCommands.directory,
        ],
        examples: [
            "reveille witness serve",
            "reveille witness serve --listen unix:/run/reveille-witness/http.sock",
        ],
        notes: """
            It speaks C2SP tlog-witness: POST /add-checkpoint for logs, GET /HASH/checkpoint for
            monitors. Each cosignature is on the disk before it answers. It does not start when a
            file of its directory is missing or damaged: a witness that forgot would cosign a second
            history.
            """,
        run: { (invocation) async throws(CommandFailure) in try await run(invocation) })

    private static func run(_ invocation: Invocation) async throws(CommandFailure) -> ExitStatus {
        let text = invocation.value("--listen") ?? "127.0.0.1:8091"
        guard let address = ConfigurationParser.address(text, try Environment.absolute(".")) else {
            throw .usage("--listen takes HOST:PORT or unix:PATH, not \(text)")
        }
        let log = WitnessLog(isJournal: ServiceManager.hasJournal)
        defer { WitnessLog.flush() }
        let place = try WitnessCommands.place(invocation)
        if let fault = ConfigurationFile.fault(above: place.path) {
            throw fault
        }
        let store = try mapError(WitnessCommands.failure, try WitnessStore(place) { log($0) })
        let service: WitnessService
        do throws(HTTPServerError) {
            service = try WitnessService(
                store, listen: address.listening(mode: 0o666),
                proxyProtocol: invocation.flag("--proxy-protocol")
            ) { log($0) }
        } catch {
            throw CommandFailure(error) { _ in text }
        }
        await service.runUntilTerminated()
        return .success
    }
}
