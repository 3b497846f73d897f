package import WakeModel
package import WakePush
import WakeSystem

/// The state of a broadcast run, for scripts, the operator's terminal, and metrics.
package struct BroadcastReport: Sendable, Equatable {
    /// The run's number; 0: none yet.
    package var run: UInt64 = 0
    package var isRunning = false
    package var sequence: UInt64 = 0
    /// How much of the store was read and completed, by the gateway that is furthest behind.
    package var permille = 0
    package var counters = RunCounters()
    /// The two above when this process took up the run.
    package var startPermille = 0
    package var startCounters = RunCounters()
    package var isComplete = false
    /// Whether only gateways that cannot be used now are left: they are tried again every few
    /// minutes, until another broadcast or a rotation is due. Others see a run that has ended.
    package var isWaiting = false
    /// Whether the operator ended it.
    package var wasEnded = false
    /// Pushes given up, by the last cause.
    package var causes: [RetryCause: Int] = [:]
    /// Whether the heartbeat is the run's only reason.
    package var isHeartbeat = false
    package var hosts = HostCounts()
    /// Seconds that the plan gave it when this process took it up; nil without a plan.
    package var plannedSeconds: Int?
    /// Registrations a second, see ``RateMeter``.
    var rates: [PushService: Double] = [:]
    /// Push services that accepted anything since this process took up the run.
    var accepting: ServiceSet = []
    /// Push services whose "gone" is no longer believed in this run.
    package var tripped: Set<PushService> = []
    /// Gateways that stopped, and what to do about it.
    package var stopped: [PushService: String] = [:]

    /// Whether fewer than half of those asked for were accepted up to now.
    package var isMostlyRefused: Bool { !wasEnded && 2 * counters.accepted < counters.asked }

    package init() {}

    init(_ header: Checkpoint.Header) {
        run = header.run
        sequence = header.sequence
        isRunning = true
        isHeartbeat = header.reasons == .heartbeat
    }

    /// The same with what its gateways say.
    func with(_ parts: [BroadcastReport]) -> BroadcastReport {
        var report = self
        report.counters = RunCounters()
        for part in parts {
            report.counters.merge(part.counters)
            report.causes.merge(part.causes, uniquingKeysWith: +)
            report.hosts.add(part.hosts)
            report.rates.merge(part.rates) { $1 }
            report.accepting.formUnion(part.accepting)
            report.tripped.formUnion(part.tripped)
            report.stopped.merge(part.stopped) { $1 }
        }
        // One that waits says nothing about the time that the others need.
        let going = parts.filter { !$0.isWaiting }
        report.permille = (going.isEmpty ? parts : going).map(\.permille).min() ?? 0
        report.isComplete = parts.allSatisfy(\.isComplete)
        report.isWaiting =
            !report.isComplete && parts.allSatisfy { $0.isWaiting || $0.isComplete }
        if report.isWaiting { report.permille = parts.map(\.permille).min() ?? 0 }
        return report
    }

    package var progress: BroadcastProgress {
        let milliseconds = counters.milliseconds &- startCounters.milliseconds
        return BroadcastProgress(
            fraction: isComplete ? 1 : Double(permille) / 1000, isWaiting: isWaiting,
            counters: counters,
            seconds: Double(milliseconds) / 1000,
            since: (Double(startPermille) / 1000, startCounters))
    }

    func encode() -> [UInt8] {
        var text = JSONText(capacity: 1024)
        text.beginObject()
        text.member("run", number: run)
        text.member("running", bool: isRunning && !isWaiting)
        text.member("complete", bool: isComplete)
        text.member("waiting", bool: isWaiting)
        text.member("ended", bool: wasEnded)
        text.member("heartbeat", bool: isHeartbeat)
        text.member("sequence", number: sequence)
        text.member("asked", number: counters.asked)
        text.member("mostlyRefused", bool: isMostlyRefused)
        text.member("milliseconds", number: counters.milliseconds)
        text.member("plannedSeconds", raw: plannedSeconds.map(String.init) ?? "null")
        progress.addMembers(to: &text)
        text.beginObject("causes")
        for cause in RetryCause.allCases {
            text.member(named: cause.rawValue, number: causes[cause] ?? 0)
        }
        text.endObject()
        hosts.addMember(to: &text)
        text.beginObject("breakers")
        for service in PushService.allCases {
            text.member(service.name, bool: tripped.contains(service))
        }
        text.endObject()
        text.beginObject("stopped")
        for service in PushService.allCases {
            guard let message = stopped[service] else { continue }
            text.member(service.name, string: message)
        }
        text.endObject()
        text.member("line", string: progress.line)
        text.endObject()
        return text.bytes
    }
}

/// The progress of a broadcast run, for the terminal and scripts. Counts only.
package struct BroadcastProgress: Sendable, Equatable {
    /// See ``RunPosition/progress(previous:pending:)``.
    package let fraction: Double
    package let counters: RunCounters
    /// Pushes a second, and seconds to the end; nil while too little is known.
    package let rate: Double?
    package let secondsLeft: Int?

    /// - Parameter since: progress and counters when this process took up the run, `seconds` ago.
    package init(
        fraction: Double, isWaiting: Bool = false, counters: RunCounters, seconds: Double,
        since: (fraction: Double, counters: RunCounters) = (0, RunCounters())
    ) {
        self.fraction = fraction.isFinite ? min(1, max(0, fraction)) : 0
        self.counters = counters
        let isMeasured = seconds >= 1
        let sent = counters.sent &- min(since.counters.sent, counters.sent)
        rate = isMeasured ? Double(sent) / seconds : nil
        let gained = self.fraction - since.fraction
        // A year at most: the first bucket of a slow run says little.
        let left = min((1 - self.fraction) / gained * seconds, 365 * 86_400)
        // Reading on while nothing leaves says nothing.
        let isKnown = isMeasured && gained > 0 && sent > 0 && !isWaiting
        secondsLeft = self.fraction >= 1 ? 0 : isKnown ? Int(left.rounded()) : nil
    }

    /// One line of at most 100 columns, whatever the numbers:
    /// ` 42.3 %  12.3k/s  0:08:12 left  accepted 4.23M  gone 123  retried 1.2k  failed 3  breaker`
    package var line: String {
        let tenths = fraction >= 1 ? 1000 : min(999, Int(fraction * 1000))
        // Given up, or without a working gateway.
        let (failed, overflow) = counters.abandoned.addingReportingOverflow(counters.unsent)
        var parts = [
            NumberFormat.padded("\(tenths / 10).\(tenths % 10) %", to: 7),
            rate.map { NumberFormat.short(UInt64(min($0, 1e15))) + "/s" } ?? "-/s",
            (secondsLeft.map(NumberFormat.clock) ?? "-") + " left",
            "accepted \(NumberFormat.short(counters.accepted))",
            "gone \(NumberFormat.short(counters.gone))",
            "retried \(NumberFormat.short(counters.retried))",
            "failed \(NumberFormat.short(overflow ? .max : failed))",
        ]
        if counters.tripped != 0 { parts.append("breaker") }
        return parts.joined(separator: "  ")
    }

    /// The members of an object for scripts; what is not known is null.
    package func addMembers(to text: inout JSONText) {
        text.member("progress", raw: NumberFormat.fixed(min(fraction, 1), decimals: 3))
        text.member(
            "pushesPerSecond", raw: rate.map { NumberFormat.fixed($0, decimals: 1) } ?? "null")
        text.member("secondsLeft", raw: secondsLeft.map(String.init) ?? "null")
        text.member("sent", number: counters.sent)
        for (name, value) in counters.named { text.member(name, number: value) }
        text.member("tripped", bool: counters.tripped != 0)
    }
}

/// A set of push services.
struct ServiceSet: OptionSet, Sendable {
    let rawValue: UInt8

    init(rawValue: UInt8) { self.rawValue = rawValue }
    init(_ service: PushService) { rawValue = 1 << (service.rawValue - 1) }
}
