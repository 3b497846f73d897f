import Synchronization
import WakeHTTP
import WakeModel
import WakePush
import WakeRelay
import WakeStore
import WakeSystem

/// Counters for the operator; nothing in them is about one person.
struct Metrics: Sendable {
    let http: @Sendable () -> HTTPCounters?
    let broadcaster: Broadcaster
    let rotator: Rotator
    let planner: BroadcastPlanner
    let newRegistrations: NewRegistrations
    let relay: RelayCounters?
    let oblivious: ObliviousRoute
    private var store: StoreCounters { planner.store.counters }

    private static let openType = "application/openmetrics-text"

    /// Whether a reader asks for OpenMetrics, as Prometheus does.
    static func wantsOpen(_ request: Request) -> Bool {
        request.values(of: "accept").contains {
            String(decoding: $0, as: UTF8.self).lowercased().contains(openType)
        }
    }

    /// Where JSON has another name, which it keeps: "bits" is no unit for Prometheus.
    private static let statusNames = ["proof_difficulty": "proof_bits"]

    private struct Sample {
        let name: String
        var label: (StaticString, String)?
        let isCounter: Bool
        let help: StaticString
        let value: Int
    }

    /// - Parameter isOpen: in OpenMetrics 1.0, where a counter's family lacks the `_total` of its
    ///   samples; else in the older format of Prometheus, where both have it.
    func response(_ judgement: HealthMonitor.Judgement, isOpen: Bool) -> Response {
        var text = ""
        var last = ""
        for sample in samples(judgement) {
            let name = "reveille_\(sample.name)\(sample.isCounter ? "_total" : "")"
            if name != last {
                let family = isOpen ? "reveille_\(sample.name)" : name
                text += "# HELP \(family) \(sample.help)\n"
                text += "# TYPE \(family) \(sample.isCounter ? "counter" : "gauge")\n"
                last = name
            }
            let label = sample.label.map { "{\($0)=\"\($1)\"}" } ?? ""
            text += "\(name)\(label) \(sample.value)\n"
        }
        if isOpen { text += "# EOF\n" }
        let type =
            isOpen
            ? "\(Self.openType); version=1.0.0; charset=utf-8"
            : "text/plain; version=0.0.4; charset=utf-8"
        return Response(
            200, fields: [("Content-Type", type)] + Response.privateFields,
            body: .bytes(Array(text.utf8)))
    }

    func status(_ judgement: HealthMonitor.Judgement) -> [UInt8] {
        var text = JSONText()
        text.beginObject()
        for sample in samples(judgement) {
            let base = Self.statusNames[sample.name] ?? sample.name
            let name = sample.label.map { "\(base)_\($1)" } ?? base
            text.member(named: name, number: sample.value)
        }
        text.endObject()
        return text.bytes
    }

    private func samples(_ judgement: HealthMonitor.Judgement) -> [Sample] {
        let announced = broadcaster.schedule.history.sequence ?? 0
        let spread = planner.publishedSpread
        let general = [
            gauge("feed_sequence", "newest sequence of the feed", planner.feed.sequence),
            gauge("broadcast_sequence", "sequence of the last broadcast", announced),
            gauge("publish_spread_seconds", "spread that the next head should have", spread),
            gauge("streams", "event streams open now", planner.wakes.count),
            counter("broadcasts", "broadcasts started", broadcaster.broadcasts.now),
            counter("stream_wake_ups", "wake-ups on event streams", broadcaster.streamWakeUps.now),
            counter("registers", "registrations written or renewed", store.registers.now),
            counter("registers_new", "registrations that were new", newRegistrations.admitted.now),
            counter(
                "registers_challenged", "times work was asked for",
                newRegistrations.challenged.now),
            gauge(
                "proof_difficulty", "bits of the work that would be asked for now",
                newRegistrations.neededBits),
            counter("deletes", "registrations deleted", store.deletes.now),
            counter("reads", "subject access requests", store.reads.now),
            counter("store_commits", "transactions made durable", store.commits.now),
            counter("store_truncations", "times the log was emptied", store.truncations.now),
            counter("store_refusals", "registrations refused for lack of room", store.refusals.now),
            counter("store_overloads", "operations refused for a full queue", store.overloads.now),
            counter("store_failures", "operations answered unavailable", store.failures.now),
            counter(
                "oblivious_opened", "encapsulated requests that were opened",
                oblivious.opened.now),
            counter(
                "oblivious_refused", "encapsulated requests that could not be opened",
                oblivious.refused.now),
            gauge("store_pages", "pages of the database", store.pages.now),
        ]
        return operation(judgement) + general + generations(rotator.now)
            + pushes(broadcaster.totals)
            + (relay.map(relayed) ?? []) + (http().map(connections) ?? [])
    }

    private func operation(_ judgement: HealthMonitor.Judgement) -> [Sample] {
        let (facts, found) = (judgement.facts, judgement.troubles)
        // A head may be of the next minute, and a clock be set back.
        let age = facts.head.map { max(0, facts.now - $0.issued) } ?? -1
        let left = facts.head.map { $0.expires - facts.now } ?? 0
        let pause = facts.head?.pausedUntil.map { max(0, $0 - facts.now) } ?? 0
        return Trouble.allCases.map { trouble in
            Sample(
                name: "trouble", label: ("kind", trouble.rawValue), isCounter: false,
                help: "whether the operator has to mend something",
                value: found.contains(trouble) ? 1 : 0)
        } + [
            gauge("uptime_seconds", "since the service started", judgement.uptime),
            gauge("feed_head_age_seconds", "since the feed's head was signed; -1: none", age),
            gauge("feed_head_left_seconds", "until the feed's head expires", left),
            gauge(
                "feed_pause_left_seconds", "for which clients ignore wake-ups; 0: they do not",
                pause),
            gauge("disk_free_bytes", "of the store's file system", facts.free ?? -1),
            gauge(
                "feed_log_size", "heads in the feed's log; -1: no policy of witnesses",
                facts.witnesses?.size ?? -1),
            gauge(
                "feed_cosignatures", "witnesses that cosigned the newest head; -1: no policy",
                facts.witnesses?.cosigned ?? -1),
        ]
    }

    private func connections(_ http: HTTPCounters) -> [Sample] {
        let (client, server) = (http.refusedByClientError.now, http.refusedByServerError.now)
        return [
            gauge("connections", "connections open now", http.open.now),
            counter("connections_accepted", "connections accepted", http.accepted.now),
            counter("connections_dropped", "connections ended for slowness", http.dropped.now),
            counter("requests", "complete requests", http.requests.now),
            counter("requests_refused_4xx", "requests refused as malformed", client),
            counter("requests_refused_5xx", "requests refused at a cap or as unsupported", server),
        ]
    }

    private func generations(_ state: Rotator.State) -> [Sample] {
        let record = state.schedule.record
        let left = state.schedule.secondsLeft
        let expired = store.expired.now
        let current: StaticString = "registrations of the current generation, about"
        let previous: StaticString = "registrations that the next rotation drops, about"
        return [
            gauge("generation", "number of the current generation", record.generation),
            gauge("next_rotation_seconds", "of running time until the next rotation", left),
            gauge("registrations_current", current, store.currentRows.now),
            gauge("registrations_previous", previous, store.previousRows.now),
            counter("rotations", "rotations done", store.rotations.now),
            counter("rotation_failures", "rotations that failed", state.failures),
            counter("registrations_expired", "registrations dropped by rotations, about", expired),
        ]
    }

    private func pushes(_ totals: RunCounters) -> [Sample] {
        let report = broadcaster.report
        let next = broadcaster.schedule.secondsToNextStart ?? -1
        let duplicates: StaticString = "registrations whose push token had its wake-up already"
        let unserved: StaticString = "registrations without a gateway, or not for heartbeats"
        let atHosts: StaticString = "registrations at hosts of Web Push in the run"
        let hosts = HostCounts.Outcome.allCases.flatMap { outcome in
            report.hosts.kinds.map { kind in
                Sample(
                    name: "run_webpush_\(outcome)", label: ("host", "\(kind.name)"),
                    isCounter: false,
                    help: atHosts, value: report.hosts.count(outcome, kind))
            }
        }
        return hosts + [
            gauge("run", "broadcast run that goes on, or the last", report.run),
            gauge("run_running", "whether a broadcast run goes on", report.isRunning ? 1 : 0),
            gauge("run_permille", "progress of the run", report.permille),
            gauge("run_gateways_stopped", "gateways that stopped in it", report.stopped.count),
            gauge("run_breakers_tripped", "deletion breakers that tripped", report.tripped.count),
            gauge("next_broadcast_seconds", "until the next broadcast; -1: not known", next),
            counter("pushes_accepted", "wake-ups that a push service took", totals.accepted),
            counter("pushes_gone", "push tokens that a push service called gone", totals.gone),
            counter("pushes_retried", "wake-ups sent once more", totals.retried),
            counter("pushes_abandoned", "wake-ups given up for their run", totals.abandoned),
            counter("pushes_unsent", "wake-ups lost to a gateway that stopped", totals.unsent),
            counter("topic_messages", "messages to topics that FCM took", totals.topics),
            counter("pushes_saved", duplicates, totals.duplicates),
            counter("registrations_unserved", unserved, totals.unserved),
            counter("registrations_gone", "registrations deleted as gone", totals.deleted),
        ]
    }

    private func relayed(_ relay: RelayCounters) -> [Sample] {
        let counts = relay.counts
        let refusals = relay.refusals
        let outcomes: [(StaticString, Int)] = [
            ("accepted", counts.accepted), ("gone", counts.gone), ("retry", counts.retried),
            ("stopped", counts.stopped),
        ]
        let wakes = outcomes.map {
            counter("relay_wakes", "wake-ups of installations", $1, label: ("delivery", "\($0)"))
        }
        return wakes
            + Problem.allCases.compactMap { problem in
                refusals[problem].map {
                    counter(
                        "relay_refused", "refused relay requests", $0,
                        label: ("code", "\(problem.code)")
                    )
                }
            }
    }

    private func gauge(
        _ name: StaticString, _ help: StaticString, _ value: some BinaryInteger
    ) -> Sample {
        Sample(name: name.description, isCounter: false, help: help, value: Int(clamping: value))
    }

    private func counter(
        _ name: StaticString, _ help: StaticString, _ value: some BinaryInteger,
        label: (StaticString, String)? = nil
    ) -> Sample {
        Sample(
            name: name.description, label: label, isCounter: true, help: help,
            value: Int(clamping: value))
    }
}

extension Atomic<Int> {
    fileprivate var now: Int { load(ordering: .relaxed) }
}
