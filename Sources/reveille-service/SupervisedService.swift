import WakeCommand
import WakeHTTP
import WakeServer
import WakeSystem
import WakeWitness

/// A service that runs until it is cancelled, under a service manager.
protocol SupervisedService: Sendable {
    /// Returns when the task was cancelled and all requests are answered.
    func run() async
    /// Returns when each of its threads has done something since; never, when one hangs.
    func proveLife() async
}

extension Service: SupervisedService {}
extension WitnessService: SupervisedService {}

extension SupervisedService {
    /// Runs until SIGTERM or SIGINT, and tells the service manager when it is ready, that it is
    /// alive, and when it stops (sd_notify(3)).
    func runUntilTerminated() async {
        await TerminationSignal.cancels {
            ServiceManager.notify(.ready)
            let watchdog = Task { await notifyWatchdog() }
            await withTaskCancellationHandler {
                await run()
            } onCancel: {
                ServiceManager.notify(.stopping)
            }
            // Not waited for: it may be waiting for threads that have ended.
            watchdog.cancel()
        }
    }

    /// Notifies the service manager's watchdog, which restarts a service that hangs.
    private func notifyWatchdog() async {
        guard let interval = ServiceManager.watchdog else { return }
        while !Task.isCancelled {
            await proveLife()
            ServiceManager.notify(.alive)
            try? await Task.sleep(for: interval)
        }
    }
}

extension CommandFailure {
    /// A server that did not start; `name` says of which address, never the address of a client.
    init(_ error: HTTPServerError, name: (_ listener: Int) -> String) {
        switch error {
        case .addressInUse(let listener):
            self.init("\(name(listener)) is in use", hint: "is another service running already?")
        case .cannotListen(let listener, let number):
            self.init("\(name(listener)) cannot be bound: \(SystemError(number).reason)")
        case .noEventLoop(let number):
            self.init("the event loop could not be made: \(SystemError(number).reason)")
        }
    }
}
