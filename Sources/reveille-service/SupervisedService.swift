import Glibc
import WakeCommand
import WakeHTTP
import WakeServer
import WakeSystem

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
            self.init(
                "\(name(listener)) cannot be bound: \(SystemError(number).reason)",
                hint: Self.hint(number))
        case .noEventLoop(let number):
            self.init("the event loop could not be made: \(SystemError(number).reason)")
        }
    }

    /// What to do when an address cannot be bound (bind(2), unix(7)).
    private static func hint(_ number: Int32) -> String? {
        switch number {
        case EACCES, EPERM:
            "a socket's directory must be writable for this user; ports below 1024 are root's: "
                + "leave them to a front (Deploy/nginx.conf)"
        case EEXIST: "a file that is no socket has this path: remove it, or name another path"
        case ENOENT:
            "the socket's directory is missing: make it for this user, or set RuntimeDirectory= "
                + "in the unit"
        case ENOTDIR: "a part of the path is no directory: name another path"
        case EROFS: "the file system is read-only: name a path in a directory such as /run/reveille"
        case EADDRNOTAVAIL: "this machine has no such address, or not yet: `ip address` lists them"
        default: nil
        }
    }
}
