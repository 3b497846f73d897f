import Synchronization
import WakeModel
import WakePush
import WakeSystem

/// The settings in force and the gateways made of them, which a reload replaces as a whole.
final class Settings: Sendable {
    struct Values: Sendable {
        let configuration: Configuration
        let gateways: [any Gateway]
        let admission: Admission
        fileprivate let set: GatewaySet

        init(
            _ configuration: Configuration, gateways: [any Gateway],
            of set: GatewaySet = GatewaySet()
        ) {
            self.configuration = configuration
            self.gateways = gateways
            self.set = set
            admission = Admission(gateways)
        }

        init(_ configuration: Configuration, _ set: GatewaySet) {
            self.init(configuration, gateways: set.all, of: set)
        }
    }

    private let values: Mutex<Values>

    init(_ values: Values) { self.values = Mutex(values) }

    var now: Values { values.withLock { $0 } }

    fileprivate func replace(_ new: Values) { values.withLock { $0 = new } }
}

/// A key of the configuration, as the log names it.
package struct SettingName: Sendable, Equatable, Encodable {
    package let section: String
    package let key: String

    private init(_ key: ConfigurationParser.Key) {
        let words = key.words.name.split(separator: ".").map(String.init)
        (section, self.key) = (words[0], words[1])
    }

    /// The keys that need a restart.
    package static let restarting = ConfigurationParser.all.filter { !$0.isReloaded }
        .map { SettingName($0) }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode("\(section).\(key)")
    }
}

/// The reason why a reload changed nothing.
package struct ReloadRefusal: Error, Sendable, Equatable {
    package enum Cause: String, Sendable, CaseIterable {
        /// The file cannot be read.
        case file
        /// A mistake in the file, or in one that it names.
        case configuration
        /// A section whose gateways cannot be made.
        case gateway
        /// More connections to push services than there are descriptors for.
        case descriptors
        /// The new heartbeat cannot be written down.
        case state
    }

    let cause: Cause
    let line: Int
    /// What is wrong, and often a second line with a hint.
    package let message: String

    package init(_ cause: Cause, line: Int = 0, _ message: String) {
        self.cause = cause
        self.line = line
        self.message = message
    }
}

/// What a reload did, by the names of the file.
struct ReloadReport: Sendable, Equatable, Encodable {
    /// The keys whose new value is in force.
    fileprivate(set) var changed: [String] = []
    /// The keys whose old value is in force until a restart.
    fileprivate(set) var restart: [SettingName] = []
    /// The sections whose gateways were made again: for their keys, or the files that these name.
    fileprivate(set) var gateways: [String] = []
}

/// Reads the configuration again for a running service: all that can change without a restart
/// changes at one moment, or nothing does. Broadcasts take the settings with which they start.
actor Reloader {
    typealias Source = @Sendable () throws(ReloadRefusal) -> Configuration

    private let settings: Settings
    private let source: Source
    private let parts: Parts
    private let log: Log
    private var last: Task<Result<ReloadReport, ReloadRefusal>, Never>?

    init(_ settings: Settings, from source: @escaping Source, parts: Parts, log: Log) {
        self.settings = settings
        self.source = source
        self.parts = parts
        self.log = log
    }

    /// The parts of the service that keep settings of their own.
    struct Parts: Sendable {
        let access: AdminAccess
        let feed: FeedMonitor
        let newRegistrations: NewRegistrations
        let schedule: ScheduleStore
        let relay: RelayRoute?
        let testPushes: TestPushes
        let oblivious: ObliviousRoute
        let peers: ShardPeers
        let transparency: TransparencyRoute
        /// Leaves public connections the descriptors below a number.
        let setDescriptors: @Sendable (Int) -> Void
    }

    /// One at a time, in the order of the calls.
    func reload() async -> Result<ReloadReport, ReloadRefusal> {
        let former = last
        let task = Task {
            _ = await former?.value
            return await perform()
        }
        last = task
        return await task.value
    }

    private func perform() async -> Result<ReloadReport, ReloadRefusal> {
        do throws(ReloadRefusal) {
            let report = try await change()
            for name in report.restart { log(.restartNeeded(name)) }
            log(
                .reloaded(
                    keys: report.changed.count, gateways: report.gateways.count,
                    restart: report.restart.count))
            return .success(report)
        } catch {
            log(.reloadRefused(error.cause, line: error.line))
            return .failure(error)
        }
    }

    private func change() async throws(ReloadRefusal) -> ReloadReport {
        let former = settings.now
        let (configuration, report) = former.configuration.merged(with: try source())
        var next = report
        let opened = try mapError({ ReloadRefusal($0.cause, $0.message) }) {
            () throws(SetupError) in
            try OpenedParts(configuration, keeping: former.set, log: log)
        }
        let gateways = opened.gateways
        try await setHeartbeat(configuration, former: former.configuration)
        settings.replace(Settings.Values(configuration, gateways))
        opened.budget.raiseLimit()
        parts.setDescriptors(opened.budget.publicNumbers)
        log.change(to: configuration.logLevel)
        parts.transparency.change(to: PrivacyPage(configuration))
        parts.newRegistrations.change(to: configuration)
        parts.peers.change(to: configuration.peers)
        if parts.oblivious.change(to: opened.ring, upstream: configuration.obliviousUpstream),
            !next.changed.contains(where: { $0.hasPrefix("oblivious.") })
        {
            // The same path, and another key in its file.
            next.changed.append("oblivious.key")
        }
        parts.feed.change(to: opened.remote, isOn: configuration.watch)
        if parts.access.change(to: opened.token), !next.changed.contains("admin.token"),
            configuration.adminToken != nil
        {
            // The same path, and another token in its file.
            next.changed.append("admin.token")
        }
        let changes = gateways.changes(since: former.set)
        next.gateways = changes.map(\.name)
        if !changes.isEmpty {
            let services = changes.flatMap(\.services)
            parts.relay?.replace(gateways.all, of: services)
            parts.testPushes.replace(gateways.all, of: services)
        }
        return next
    }

    private func setHeartbeat(
        _ configuration: Configuration, former: Configuration
    ) async throws(ReloadRefusal) {
        let seconds = configuration.heartbeatSeconds
        guard seconds != former.heartbeatSeconds else { return }
        let isDone = await parts.schedule.change { schedule, now in
            var random = SystemRandomNumberGenerator()
            schedule.setHeartbeat(seconds, now: now, using: &random)
            return true
        }
        guard isDone != nil else {
            throw ReloadRefusal(
                .state,
                "the schedule of broadcasts cannot be written: nothing was changed\n"
                    + "hint: see that the data directory is writable and not full")
        }
    }
}

extension Configuration {
    /// The settings of `new`, but for the keys that need a restart, which keep their values.
    func merged(with new: Configuration) -> (Configuration, ReloadReport) {
        var merged = new
        var report = ReloadReport()
        for key in ConfigurationParser.all where !key.isReloaded { key.keep(self, &merged) }
        // The listener stays on TCP until a restart, and never without a token.
        let keepsToken = merged.adminToken == nil && merged.admin != new.admin
        if keepsToken { merged.adminToken = adminToken }
        for key in ConfigurationParser.all
        where key.isReloaded && key.text(merged) != key.text(self) {
            report.changed.append(key.words.name)
        }
        report.restart = zip(
            SettingName.restarting, ConfigurationParser.all.filter { !$0.isReloaded }
        ).filter { $1.text(new) != $1.text(self) }.map(\.0)
        return (merged, report)
    }
}
