import Reveille
import Synchronization
import WakeCommand
import WakeFeed
import WakeSystem

/// A way by which other programs learn of events: lines of JSON, or the session bus.
protocol EventSink: Sendable {
    /// - Returns: false when nobody can learn of it this way now.
    func publish(_ match: Match) -> Bool
    func publish(_ warning: Warning)
    func publish(_ status: ClientStatus)
}

/// Publishes what `run` finds to other programs, which acknowledge matches.
///
/// A match that nobody acknowledges in time is published again: after a minute to six hours, when
/// `run` starts, and when a program asks. One that is acknowledged later than that counts as well.
final class EventPublisher: Sendable {
    static let options: [Command.Option] = [
        .init("--json", "events as lines of JSON; acknowledgements on standard input"),
        .init("--dbus", "serve org.reveille.Client1 on the session bus"),
    ]

    /// As long as a program of `--on-match` may take.
    private static let patience = Duration.seconds(30)

    private let lines: EventLines?
    private let bus: BusInterface?
    /// Matches count as delivered when they are acknowledged.
    private let needsAcknowledgement: Bool
    private struct Waiting {
        let id: MatchID
        let event = AsyncEvent()
        var isAcknowledged = false
    }

    private let waiting = Mutex<Waiting?>(nil)

    /// Standard output takes nothing more.
    var hasLostReader: Bool { lines?.hasEnded ?? false }

    private var sinks: [any EventSink] {
        let sinks: [(any EventSink)?] = [lines, bus]
        return sinks.compactMap(\.self)
    }

    /// Nil when neither way is asked for.
    init?(_ invocation: Invocation, _ profile: Profile) {
        lines = invocation.flag("--json") ? EventLines() : nil
        bus = invocation.flag("--dbus") ? BusInterface(ProfilePushes(profile: profile)) : nil
        guard lines != nil || bus != nil else { return nil }
        let others = ["--notify", "--notify-note"].contains { invocation.flag($0) }
        let isReported = others || invocation.value("--on-match") != nil
        // On the bus nobody need be there; a reader of lines always is.
        needsAcknowledgement = lines != nil || !isReported
    }

    /// Publishes a match; true when it was acknowledged in time, or need not be.
    func publish(_ match: Match) async -> Bool {
        let waited = Waiting(id: match.id)
        waiting.withLock { $0 = waited }
        let isPublished = sinks.map { $0.publish(match) }.contains(true)
        if needsAcknowledgement, isPublished {
            await waited.event.wait { await SystemClock.sleep(for: Self.patience, pauses: true) }
        }
        let isAcknowledged = waiting.withLock { waiting in
            defer { waiting = nil }
            return waiting?.isAcknowledged == true
        }
        return isAcknowledged || !needsAcknowledgement
    }

    func publish(_ warning: Warning) { for sink in sinks { sink.publish(warning) } }

    /// Takes acknowledgements and publishes changes of the status, until the task is cancelled or
    /// the reader of the lines has gone.
    func run(for client: WakeClient) async {
        await withTaskCancellationHandler {
            await publishAll(of: client)
        } onCancel: {
            lines?.abandon()
        }
    }

    private func publishAll(of client: WakeClient) async {
        await withTaskGroup(of: Bool.self) { group in
            group.addTask {
                await self.publishStatus(of: client)
                return true
            }
            if let lines {
                group.addTask {
                    for await line in lines.acknowledgements() {
                        await self.acknowledge(line, from: lines, client)
                    }
                    // Nobody acknowledges any more; who reads may still be there.
                    return false
                }
                group.addTask {
                    await lines.waitForEnd()
                    return true
                }
            }
            if let bus {
                group.addTask {
                    await bus.run(for: client) { id in
                        await self.acknowledge(id, client)
                    }
                    return false
                }
            }
            while let isOver = await group.next(), !isOver {}
            group.cancelAll()
        }
    }

    private func publishStatus(of client: WakeClient) async {
        try? await client.retryDeliveries()
        var last: ClientStatus?
        while !Task.isCancelled {
            let status = await client.status
            if last?.differs(from: status) ?? true {
                for sink in sinks { sink.publish(status) }
                last = status
            }
            await client.statusChange.wait()
        }
    }

    private func acknowledge(
        _ line: EventLines.Acknowledgement, from lines: EventLines, _ client: WakeClient
    ) async {
        guard case .match(let id) = line else { return lines.publish(error: "not-understood") }
        if await !acknowledge(id, client) { lines.publish(error: "unknown-match") }
    }

    /// - Returns: false when there is no such match.
    private func acknowledge(_ id: MatchID, _ client: WakeClient) async -> Bool {
        let event = waiting.withLock { waiting -> AsyncEvent? in
            guard waiting?.id == id else { return nil }
            waiting?.isAcknowledged = true
            return waiting?.event
        }
        if let event {
            event.signal()
            return true
        }
        return (try? await client.acknowledge(id)) ?? false
    }
}
