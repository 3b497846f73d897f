import WakeHTTP
import WakeModel
import WakePush
import WakeStore
package import WakeSystem

/// Numbers for the operator; nothing in them is about one person. What is counted where it happens
/// is a ``Counter`` of its part; what is known at a moment only is a row of ``rows``.
package struct Metrics: Sendable {
    let http: @Sendable () -> HTTPCounters?
    let broadcaster: Broadcaster
    let rotator: Rotator
    let planner: BroadcastPlanner
    let newRegistrations: NewRegistrations
    let testPushes: TestPushes
    let relay: RelayCounters?
    let oblivious: ObliviousRoute
    private var store: StoreCounters { planner.store.counters }

    private var counters: [Counter] {
        [broadcaster.broadcasts, broadcaster.streamWakeUps]
            + [newRegistrations.admitted, newRegistrations.challenged]
            + [testPushes.accepted, testPushes.failed]
            + [oblivious.opened, oblivious.refused, oblivious.overloaded]
            + store.all + (http()?.all ?? [])
    }

    /// The state that the rows read.
    private struct Moment {
        let metrics: Metrics
        let judgement: HealthMonitor.Judgement
        let report: BroadcastReport
        let totals: RunCounters
        let rotation: Rotator.State

        var facts: TroubleFacts { judgement.facts }
    }

    /// A metric, and its number; of a family, that of each label.
    private struct Row: Sendable {
        let metric: Metric
        var label: StaticString?
        let values: @Sendable (Moment) -> [(label: String?, value: Int)]
    }

    private static func row(
        _ name: StaticString, _ help: StaticString, _ whole: Metric.Whole = .sum,
        kind: Metric.Kind = .gauge,
        _ value: @escaping @Sendable (Moment) -> some BinaryInteger & SendableMetatype
    ) -> Row {
        Row(metric: Metric(name, help, kind, whole)) { [(nil, Int(clamping: value($0)))] }
    }

    private static func family(
        _ name: StaticString, _ help: StaticString, label: StaticString,
        kind: Metric.Kind = .gauge, _ values: @escaping @Sendable (Moment) -> [(String?, Int)]
    ) -> Row {
        Row(metric: Metric(name, help, kind), label: label, values: values)
    }

    private static let rows: [Row] = operation + feed + broadcasts + outcomes + relayed

    private static let operation = [
        family("trouble", "whether the operator has to mend something", label: "kind") { now in
            Trouble.allCases.map {
                ($0.rawValue, now.judgement.troubles.contains($0) ? 1 : 0)
            }
        },
        row("uptime_seconds", "since the service started", .least) { $0.judgement.uptime },
        row("disk_free_bytes", "of the store's file system", .leastKnown) { $0.facts.free ?? -1 },
        row("streams", "event streams open now") { $0.metrics.planner.wakes.count },
        row("proof_difficulty", "bits of the work that would be asked for now", .greatest) {
            $0.metrics.newRegistrations.neededBits
        },
        row("generation", "number of the current generation", .least) {
            $0.rotation.schedule.record.generation
        },
        row("next_rotation_seconds", "of running time until the next rotation", .least) {
            $0.rotation.schedule.secondsLeft
        },
        row("rotation_failures", "rotations that failed", kind: .counter) { $0.rotation.failures },
    ]

    private static let feed = [
        row("feed_sequence", "newest sequence of the feed", .leastOfHeads) {
            $0.metrics.planner.feed.sequence
        },
        // A head may be of the next minute, and a clock be set back.
        row("feed_head_age_seconds", "since the feed's head was signed; -1: none", .greatest) {
            now in now.facts.head.map { max(0, now.facts.now - $0.issued) } ?? -1
        },
        row("feed_head_left_seconds", "until the feed's head expires", .leastOfHeads) { now in
            now.facts.head.map { $0.expires - now.facts.now } ?? 0
        },
        row(
            "feed_pause_left_seconds", "for which clients ignore wake-ups; 0: they do not",
            .greatest
        ) { now in now.facts.head?.pausedUntil.map { max(0, $0 - now.facts.now) } ?? 0 },
        row("feed_log_size", "heads in the feed's log; -1: no policy of witnesses", .leastKnown) {
            $0.facts.witnesses?.size ?? -1
        },
        row(
            "feed_cosignatures", "witnesses that cosigned the newest head; -1: no policy",
            .leastKnown
        ) { $0.facts.witnesses?.cosigned ?? -1 },
    ]

    private static let broadcasts = [
        row("broadcast_sequence", "sequence of the last broadcast", .least) {
            $0.metrics.broadcaster.schedule.history.sequence ?? 0
        },
        row("publish_spread_seconds", "spread that the next head should have", .greatest) {
            $0.metrics.planner.publishedSpread
        },
        row("next_broadcast_seconds", "until the next broadcast; -1: not known", .leastKnown) {
            $0.metrics.broadcaster.schedule.secondsToNextStart ?? -1
        },
        row("run", "number of the running broadcast, or of the last one", .least) { $0.report.run },
        row("run_running", "whether a broadcast is running") { $0.report.isRunning ? 1 : 0 },
        row("run_permille", "progress of the run", .least) { $0.report.permille },
        row("run_gateways_stopped", "gateways that stopped in it") { $0.report.stopped.count },
        row("run_breakers_tripped", "deletion breakers that tripped") { $0.report.tripped.count },
    ]

    private static let outcomes =
        RunCounters.table.compactMap { field in
            field.metric.map { metric in Row(metric: metric) { [(nil, $0.totals[field])] } }
        }
        + [
            hosts("run_webpush_accepted", .accepted), hosts("run_webpush_gone", .gone),
            hosts("run_webpush_abandoned", .abandoned), hosts("run_webpush_skipped", .skipped),
        ]

    private static func hosts(_ name: StaticString, _ outcome: HostCounts.Outcome) -> Row {
        family(name, "registrations at hosts of Web Push in the run", label: "host") { now in
            now.report.hosts.kinds.map { ("\($0.name)", now.report.hosts.count(outcome, $0)) }
        }
    }

    private static let relayed = [
        family(
            "relay_wakes", "wake-ups of installations", label: "delivery", kind: .counter
        ) {
            guard let counts = $0.metrics.relay?.counts else { return [] }
            return [
                ("accepted", counts.accepted), ("gone", counts.gone), ("retry", counts.retried),
                ("stopped", counts.stopped),
            ]
        },
        family("relay_refused", "refused relay requests", label: "code", kind: .counter) {
            let refusals = $0.metrics.relay?.refusals ?? [:]
            return Problem.allCases.compactMap { problem in
                refusals[problem].map { ("\(problem.code)", $0) }
            }
        },
    ]

    /// How numbers of several services are one, by the name that `reveille status` has for them;
    /// all others are added.
    package static let wholes = Dictionary(
        uniqueKeysWithValues: rows.map { ($0.metric.name.description, $0.metric.whole) })

    private typealias Sample = (metric: Metric, label: (StaticString, String)?, value: Int)

    private func samples(_ judgement: HealthMonitor.Judgement) -> [Sample] {
        let moment = Moment(
            metrics: self, judgement: judgement, report: broadcaster.report,
            totals: broadcaster.totals, rotation: rotator.now)
        let known: [Sample] = Self.rows.flatMap { row in
            row.values(moment).map { label, value in
                (row.metric, row.label.flatMap { name in label.map { (name, $0) } }, value)
            }
        }
        return known + counters.map { ($0.metric, nil, $0.now) }
    }

    private static let openType = "application/openmetrics-text"

    /// Whether a reader asks for OpenMetrics, as Prometheus does.
    static func wantsOpen(_ request: Request) -> Bool {
        request.values(of: "accept").contains {
            String(decoding: $0, as: UTF8.self).lowercased().contains(openType)
        }
    }

    /// - Parameter isOpen: in OpenMetrics 1.0, where a counter's family lacks the `_total` of its
    ///   samples; else in the older format of Prometheus, where both have it.
    func response(_ judgement: HealthMonitor.Judgement, isOpen: Bool) -> Response {
        var text = ""
        var last = ""
        for (metric, label, value) in samples(judgement) {
            let name = "reveille_\(metric.name)\(metric.kind == .counter ? "_total" : "")"
            if name != last {
                let family = isOpen ? "reveille_\(metric.name)" : name
                text += "# HELP \(family) \(metric.help)\n# TYPE \(family) \(metric.kind)\n"
                last = name
            }
            text += name + (label.map { "{\($0)=\"\($1)\"}" } ?? "") + " \(value)\n"
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

    /// The same by name.
    func status(_ judgement: HealthMonitor.Judgement) -> [String: Int] {
        samples(judgement).reduce(into: [:]) { status, sample in
            status["\(sample.metric.name)" + (sample.label.map { "_" + $1 } ?? "")] = sample.value
        }
    }
}
