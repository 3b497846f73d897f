import Synchronization
import WakeHTTP
import WakeModel
import WakeStore

/// Counters for the operator. They count; nothing in them is about one person.
struct Metrics: Sendable {
    let http: @Sendable () -> HTTPCounters?
    let store: StoreCounters
    let wakes: StreamHub
    let broadcaster: Broadcaster
    let rotator: Rotator
    let planner: BroadcastPlanner
    let relay: RelayCounters?
    let sequence: @Sendable () -> UInt64

    private struct Sample {
        let name: StaticString
        /// Its place among those of one name, as `label` and `value`.
        var label: (StaticString, StaticString)?
        let isCounter: Bool
        let help: StaticString
        let value: Int
    }

    /// OpenMetrics 1.0 text.
    func answer() -> Response {
        var text = ""
        var last = ""
        for sample in samples() {
            let name = "reveille_\(sample.name)"
            if name != last {
                text += "# TYPE \(name) \(sample.isCounter ? "counter" : "gauge")\n"
                text += "# HELP \(name) \(sample.help)\n"
                last = name
            }
            let label = sample.label.map { "{\($0)=\"\($1)\"}" } ?? ""
            text += "\(name)\(sample.isCounter ? "_total" : "")\(label) \(sample.value)\n"
        }
        text += "# EOF\n"
        let type = "application/openmetrics-text; version=1.0.0; charset=utf-8"
        return Response(
            200, fields: [("Content-Type", type)] + Answers.privateFields,
            body: .bytes(Array(text.utf8)))
    }

    /// The same numbers as one JSON object, for `reveille status`.
    func status() -> [UInt8] {
        var text = JSONText()
        text.beginObject()
        for sample in samples() {
            let name = sample.label.map { "\(sample.name)_\($1)" } ?? sample.name.description
            text.member(named: name, number: sample.value)
        }
        text.endObject()
        return text.bytes
    }

    private func samples() -> [Sample] {
        var samples = [
            gauge("feed_sequence", "newest sequence of the feed", Int(clamping: sequence())),
            gauge(
                "broadcast_sequence", "sequence of the last broadcast",
                Int(clamping: broadcaster.desk.history.sequence ?? 0)),
            gauge(
                "publish_spread_seconds", "spread of fetches that the next head should have",
                planner.publishedSpread),
            gauge("streams", "event streams open now", wakes.count),
            counter("broadcasts", "broadcasts started", load(broadcaster.broadcasts)),
            counter(
                "stream_wake_ups", "wake-ups sent on event streams",
                load(broadcaster.streamWakeUps)),
            counter("registers", "registrations written or renewed", load(store.registers)),
            counter("deletes", "registrations asked to be forgotten", load(store.deletes)),
            counter("reads", "subject access requests", load(store.reads)),
            counter("store_commits", "transactions made durable", load(store.commits)),
            counter("store_truncations", "times the log was emptied", load(store.truncations)),
            counter(
                "store_refusals", "registrations refused for lack of room", load(store.refusals)),
            counter(
                "store_overloads", "operations refused for a full queue", load(store.overloads)),
            counter("store_failures", "operations answered unavailable", load(store.failures)),
            gauge("store_pages", "pages of the database", load(store.pages)),
        ]
        samples += generations(rotator.now)
        samples += pushes(broadcaster.totals)
        if let relay { samples += passedOn(relay) }
        if let http = http() {
            samples += [
                gauge("connections", "connections open now", load(http.open)),
                counter("connections_accepted", "connections accepted", load(http.accepted)),
                counter(
                    "connections_dropped", "connections ended for slowness", load(http.dropped)),
                counter("requests", "complete requests", load(http.requests)),
                counter(
                    "requests_refused_4xx", "requests refused as malformed",
                    load(http.refusedByClientError)),
                counter(
                    "requests_refused_5xx", "requests refused at a cap or as unsupported",
                    load(http.refusedByServerError)),
            ]
        }
        return samples
    }

    private func generations(_ state: Rotator.State) -> [Sample] {
        [
            gauge(
                "generation", "number of the current generation",
                Int(clamping: state.schedule.record.generation)),
            gauge(
                "next_rotation_seconds", "of uptime until the next rotation",
                state.schedule.secondsLeft),
            gauge("rotating", "whether a rotation is in work", state.isRotating ? 1 : 0),
            gauge(
                "compaction_owed", "whether a rotation had no room to write the database anew",
                state.schedule.record.owesCompaction ? 1 : 0),
            gauge(
                "registrations_current", "registrations of the current generation, about",
                load(store.currentRows)),
            gauge(
                "registrations_previous", "registrations that the next rotation drops, about",
                load(store.previousRows)),
            counter("rotations", "rotations done", load(store.rotations)),
            counter("rotation_failures", "rotations that failed", state.failures),
            counter(
                "registrations_expired", "registrations dropped by rotations",
                load(store.expired)),
        ]
    }

    private func pushes(_ totals: RoundCounters) -> [Sample] {
        let report = broadcaster.report
        let next = broadcaster.desk.nextStart?.seconds ?? -1
        return [
            gauge("round", "round of pushes that runs, or the last", Int(clamping: report.round)),
            gauge("round_running", "whether a round of pushes runs", report.isRunning ? 1 : 0),
            gauge("round_permille", "how far the round is", report.permille),
            gauge("round_gateways_stopped", "gateways that stopped in it", report.stopped.count),
            gauge("round_brakes_tripped", "brakes that tripped in it", report.braked.count),
            gauge("next_broadcast_seconds", "until the next broadcast; -1: not known", next),
            counter("pushes_accepted", "wake-ups that a push service took", totals.accepted),
            counter("pushes_gone", "push tokens that a push service called gone", totals.gone),
            counter("pushes_retried", "wake-ups sent once more", totals.retried),
            counter("pushes_abandoned", "wake-ups given up for their round", totals.abandoned),
            counter("pushes_unsent", "wake-ups lost to a gateway that stopped", totals.unsent),
            counter(
                "pushes_saved", "registrations whose push token had its wake-up already",
                totals.duplicates),
            counter(
                "registrations_unserved", "registrations of a push service without a gateway",
                totals.unserved),
            counter("registrations_gone", "registrations deleted as gone", totals.deleted),
        ]
    }

    private func passedOn(_ relay: RelayCounters) -> [Sample] {
        func wakes(_ word: StaticString, _ value: Int) -> Sample {
            var sample = counter(
                "relay_wakes", "wake-ups of installations, by what became of them", value)
            sample.label = ("delivery", word)
            return sample
        }
        let wakes = [
            wakes("accepted", load(relay.accepted)), wakes("gone", load(relay.gone)),
            wakes("retry", load(relay.retried)), wakes("stopped", load(relay.stopped)),
        ]
        let refusals = relay.refusals
        return wakes
            + Problem.allCases.filter { refusals[$0] != nil }.map { problem in
                var sample = counter(
                    "relay_refused", "requests to the relay that were refused",
                    refusals[problem] ?? 0)
                sample.label = ("code", problem.code)
                return sample
            }
    }

    private func counter(
        _ name: StaticString, _ help: StaticString, _ value: UInt64
    ) -> Sample {
        counter(name, help, Int(clamping: value))
    }

    private func gauge(_ name: StaticString, _ help: StaticString, _ value: Int) -> Sample {
        Sample(name: name, label: nil, isCounter: false, help: help, value: value)
    }

    private func counter(_ name: StaticString, _ help: StaticString, _ value: Int) -> Sample {
        Sample(name: name, label: nil, isCounter: true, help: help, value: value)
    }

    private func load(_ value: borrowing Atomic<Int>) -> Int { value.load(ordering: .relaxed) }
}
