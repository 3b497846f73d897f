import Dispatch
import Glibc

/// SIGTERM and SIGINT as an event instead of an end.
final class TerminationSignals {
    private let sources: [any DispatchSourceSignal]
    /// One element for the first signals that come.
    let events: AsyncStream<Void>

    init() {
        let (events, sender) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        self.events = events
        sources = [SIGTERM, SIGINT].map { number in
            // dispatch_source(3): the default action must be off.
            _ = signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number)
            source.setEventHandler { sender.yield() }
            source.resume()
            return source
        }
    }

    func cancel() {
        for source in sources { source.cancel() }
    }
}
