import WakeCommand
import WakeHTTP
import WakeServer
import WakeStore
import WakeSystem

/// `reveille serve`: the daemon.
enum ServeCommand {
    static let command = Command(
        "serve", "run the service until SIGTERM; SIGHUP has it read its configuration again",
        options: [ConfigurationFile.option, FeedRefresher.option],
        examples: ["reveille serve --config /var/lib/reveille/reveille.conf"],
        run: { (invocation) async throws(CommandFailure) in try await run(invocation) })

    private static func run(_ invocation: Invocation) async throws(CommandFailure) -> ExitStatus {
        HangupSignal.keep()
        let configuration = try ConfigurationFile.load(invocation)
        defer { Log.flush() }
        let file = try ConfigurationFile.locate(invocation)
        configuration.closeToGroup()
        Files.closeToGroup(file, keeping: 0o740)
        if let fault = fault(ofPlaces: configuration, file) { throw fault }
        let log = Log(level: configuration.logLevel, isJournal: ServiceManager.hasJournal)
        let refresher = try FeedRefresher(invocation, configuration, log: log)
        let service: Service
        do {
            service = try await Service(configuration, log: log) {
                () throws(ReloadRefusal) in try ConfigurationFile.reload(invocation)
            }
        } catch {
            throw failure(error, configuration)
        }
        HangupSignal.calls { service.requestReload() }
        let refreshing = Task { await refresher?.run() }
        await service.runUntilTerminated()
        refreshing.cancel()
        await refreshing.value
        return .success
    }

    /// Whether other users could have put the configuration or the data there.
    static func fault(ofPlaces configuration: Configuration, _ file: String) -> CommandFailure? {
        ConfigurationFile.fault(file) ?? ConfigurationFile.fault(above: configuration.data)
    }

    static func failure(
        _ error: ServiceError, _ configuration: Configuration
    ) -> CommandFailure {
        switch error {
        case .setup(let error): CommandFailure(error.message, status: .configuration)
        case .store(let error):
            CommandFailure(
                lines: error.message(configuration.store),
                status: error.mayPass ? .failure : .configuration)
        case .http(let error):
            CommandFailure(error) {
                "the address of [\(configuration.addresses[$0].section)] listen"
            }
        }
    }
}
