import Dispatch
import WakeCommand
import WakeHTTP
import WakeServer
import WakeStore
import WakeSystem

/// `reveille serve`: the daemon.
enum ServeCommand {
    static let command = Command(
        "serve", "run the service until SIGTERM; SIGHUP has it read its configuration again",
        options: [ConfigurationFile.option],
        examples: ["reveille serve --config /var/lib/reveille/reveille.conf"],
        run: { (invocation) async throws(CommandFailure) in try await run(invocation) })

    private static func run(_ invocation: Invocation) async throws(CommandFailure) -> ExitStatus {
        HangupSignal.keep()
        let configuration = try ConfigurationFile.load(invocation)
        defer { Log.flush() }
        if let fault = CheckCommand.fault(above: configuration.data) {
            throw CommandFailure("\(configuration.data): \(fault)", status: .configuration)
        }
        let service: Service
        do {
            let log = Log(level: configuration.logLevel, isJournal: ServiceManager.hasJournal)
            service = try await Service(configuration, log: log) {
                () throws(ReloadRefusal) in try ConfigurationFile.reload(invocation)
            }
        } catch {
            throw failure(error, configuration)
        }
        HangupSignal.calls { service.requestReload() }
        await TerminationSignal.cancels {
            ServiceManager.notify(.ready)
            let watchdog = Task { await notifyWatchdog(service) }
            await withTaskCancellationHandler {
                await service.run()
            } onCancel: {
                ServiceManager.notify(.stopping)
            }
            // Not waited for: it may be waiting for threads that have ended.
            watchdog.cancel()
        }
        return .success
    }

    /// Notifies the service manager's watchdog, which restarts a service that hangs.
    private static func notifyWatchdog(_ service: Service) async {
        guard let interval = ServiceManager.watchdog else { return }
        while !Task.isCancelled {
            await service.proveLife()
            ServiceManager.notify(.alive)
            try? await Task.sleep(for: interval)
        }
    }

    private static func failure(
        _ error: ServiceError, _ configuration: Configuration
    ) -> CommandFailure {
        switch error {
        case .descriptors(let error): CommandFailure(error.message, status: .configuration)
        case .adminToken(let error): CommandFailure(error.message, status: .configuration)
        case .gateway(let error): CommandFailure(error.message, status: .configuration)
        case .watch(let error): CommandFailure(error.message, status: .configuration)
        case .oblivious(let error): CommandFailure(error.message, status: .configuration)
        case .store(let error): CommandFailure(error.message(configuration.store))
        case .http(.addressInUse(let listener)):
            CommandFailure(
                "\(name(listener)) is in use", hint: "is another service running already?")
        case .http(.cannotListen(let listener, let number)):
            CommandFailure("\(name(listener)) cannot be bound: \(SystemError(number).reason)")
        case .http(.noEventLoop(let number)):
            CommandFailure("the event loop could not be made: \(SystemError(number).reason)")
        }
    }

    private static func name(_ listener: Int) -> String {
        "the address of [\(["http", "admin", "metrics"][listener])] listen"
    }
}
