import Foundation

/// The loop of a desktop app: like that of GLib it waits for input and for work that was handed to
/// it, and runs all of that on the main thread. An app of GTK runs `g_application_run` instead, and
/// lets GLib call `MainLoop.iterate()` every some milliseconds (`g_timeout_add`): the jobs of
/// Swift's main actor are executed by Foundation's main run loop.
@MainActor final class MainLoop {
    private var isOver = false

    /// Runs until `quit()`.
    func run() {
        while !isOver { Self.iterate(waiting: 0.05) }
    }

    func quit() { isOver = true }

    /// Executes what waits for the main thread, and waits a little for more.
    static func iterate(waiting seconds: Double = 0) {
        _ = RunLoop.main.run(mode: .default, before: Date(timeIntervalSinceNow: seconds))
    }
}
