import Synchronization
import TestSupport
import Testing
import WakeHTTP
import WakeModel
import WakePush
import WakeStore

@testable import WakeServer

/// Runs over a real store, to gateways that the test plays.
@Suite("A broadcast run with gateways in trouble", .timeLimit(.minutes(5)))
struct BroadcastRunTests {
    @Test("a gateway that takes nothing holds up no other, and gets its own later")
    func stuck() async throws {
        let place = try await RunPlace([.apns: 400, .fcm: 7000])
        let (quick, stuck) = (PlayedGateway(.apns), PlayedGateway(.fcm))
        stuck.isHolding.update { $0 = true }
        let run = place.start([quick, stuck])
        #expect(try await quick.pushed.first { $0.count == 400 ? $0.count : nil } == 400)
        let held = try await stuck.pushed.first { $0.count > 4096 ? $0.count : nil }
        #expect(held < 7000)
        stuck.release()
        let report = await run.value
        #expect(report.isComplete && report.counters.accepted == 7400)
        #expect(report.counters.rows == 7400 && report.counters.deferred == 0)
        #expect(quick.mostPushes == 1 && stuck.mostPushes == 1)
        #expect(stuck.pushed.value.count == 7000)
    }

    @Test("one that is unavailable is tried again until it works, and nobody has two pushes")
    func reopened() async throws {
        let place = try await RunPlace([.apns: 300, .fcm: 300], isRotated: true)
        let (good, bad) = (PlayedGateway(.apns), PlayedGateway(.fcm))
        // Each session accepts some before it fails.
        bad.failing.update { $0 = 3 }
        let report = await place.start([good, bad]).value
        #expect(report.isComplete && report.counters.accepted == 600)
        #expect(report.counters.rows == 600 && report.counters.unsent == 0)
        #expect(report.stopped.isEmpty && bad.sessions.value == 4)
        #expect(good.mostPushes == 1 && bad.mostPushes == 1)
    }

    @Test("a gateway that fails in the midst of a range is sent the rest of it")
    func midst() async throws {
        let place = try await RunPlace([.apns: 700, .fcm: 1500])
        let (good, bad) = (PlayedGateway(.apns), PlayedGateway(.fcm))
        bad.failing.update { $0 = 3 }
        // One range of several pages.
        let report = await place.start([good, bad], blockBits: 1).value
        #expect(report.isComplete && report.counters.accepted == 2200)
        #expect(good.mostPushes == 1 && bad.mostPushes == 1)
    }

    @Test("who renews while the gateway is away is woken by it all the same")
    func renewed() async throws {
        let place = try await RunPlace([.apns: 50, .fcm: 200], isRotated: true)
        let (good, bad) = (PlayedGateway(.apns), PlayedGateway(.fcm))
        bad.failing.update { $0 = .max }
        let run = place.start([good, bad])
        _ = try await place.seen.first { $0.contains(where: \.isWaiting) ? true : nil }
        try await place.register([.apns: 50, .fcm: 200])
        bad.failing.update { $0 = 0 }
        let report = await run.value
        #expect(report.isComplete && report.counters.accepted == 250)
        #expect(bad.pushed.value.count == 200 && bad.mostPushes == 1)
        #expect(good.pushed.value.count == 50 && good.mostPushes == 1)
    }

    @Test("a run that waits gives way to what is due, and says what was not sent")
    func givesWay() async throws {
        let place = try await RunPlace([.apns: 30, .fcm: 70])
        let (good, bad) = (PlayedGateway(.apns), PlayedGateway(.fcm))
        bad.failing.update { $0 = .max }
        bad.acceptsBeforeFailure = 0
        let run = place.start([good, bad])
        let waiting = try await place.seen.first { $0.first(where: \.isWaiting) }
        #expect(waiting.counters.deferred == 70 && waiting.stopped[.fcm] != nil)
        place.isMoreDue.store(true, ordering: .relaxed)
        let report = await run.value
        #expect(report.isComplete && report.counters.accepted == 30)
        #expect(report.counters.unsent == 70 && report.counters.rows == 100)
        #expect(report.stopped[.fcm]?.isEmpty == false)
        #expect(report.counters.hasArrived)
    }

    @Test("one that is misconfigured is not tried again")
    func misconfigured() async throws {
        let place = try await RunPlace([.apns: 30, .fcm: 70])
        let (good, bad) = (PlayedGateway(.apns), PlayedGateway(.fcm))
        bad.failing.update { $0 = .max }
        bad.acceptsBeforeFailure = 0
        bad.failure = .misconfigured(.fcm(.projectUnknown))
        let report = await place.start([good, bad]).value
        #expect(report.isComplete && bad.sessions.value == 1)
        #expect(report.counters.accepted == 30 && report.counters.unsent == 70)
        #expect(report.counters.rows == 100 && report.stopped[.fcm]?.isEmpty == false)
    }

    @Test("one that blames the configuration after it has accepted others is tried again")
    func passing() async throws {
        let place = try await RunPlace([.apns: 30, .fcm: 700])
        let (good, bad) = (PlayedGateway(.apns), PlayedGateway(.fcm))
        bad.failing.update { $0 = 3 }
        bad.failure = .misconfigured(.connection(.certificate(10), .fcm))
        let report = await place.start([good, bad]).value
        #expect(report.isComplete && bad.sessions.value == 4)
        #expect(report.counters.accepted == 730 && report.counters.unsent == 0)
        #expect(bad.mostPushes == 1 && report.stopped.isEmpty)
    }

    @Test("registrations without a gateway are counted once, also beside one that stops")
    func unserved() async throws {
        let place = try await RunPlace([.apns: 40, .fcm: 70], isRotated: true)
        let gateway = PlayedGateway(.apns)
        let report = await place.start([gateway]).value
        #expect(report.counters.unserved == 70 && report.counters.rows == 110)
        gateway.failing.update { $0 = .max }
        gateway.acceptsBeforeFailure = 0
        gateway.failure = .misconfigured(.fcm(.projectUnknown))
        let stopped = await place.start([gateway]).value
        #expect(stopped.counters.unserved == 70 && stopped.counters.rows == 110)
        #expect(stopped.counters.unsent == 40)
    }

    @Test("what a gateway gives back comes in another pass, and nobody has two pushes")
    func givenBack() async throws {
        let place = try await RunPlace([.apns: 300, .fcm: 900], isRotated: true)
        let (good, slow) = (PlayedGateway(.apns), PlayedGateway(.fcm))
        slow.givesBack.update { $0 = true }
        let report = await place.start([good, slow]).value
        #expect(report.isComplete && report.counters.accepted == 1200)
        #expect(report.counters.rows == 1200 && report.counters.deferred == 0)
        #expect(good.mostPushes == 1 && slow.mostPushes == 1 && slow.sessions.value == 1)
    }

    @Test("a run that a few slow hosts keep gives way to the next, but only after its patience")
    func slowTail() async throws {
        let place = try await RunPlace([.apns: 30, .fcm: 70])
        let (good, slow) = (PlayedGateway(.apns), PlayedGateway(.fcm))
        slow.isHolding.update { $0 = true }
        place.isMoreDue.store(true, ordering: .relaxed)
        // A push service that has wake-ups is waited for.
        let patient = place.start([good, slow])
        _ = try await slow.pushed.first { $0.count == 70 ? true : nil }
        slow.release()
        #expect(await patient.value.counters.accepted == 100)
        slow.isHolding.update { $0 = true }
        let report = await place.start([good, slow], patience: .zero).value
        #expect(report.isComplete && report.counters.accepted == 30)
        #expect(report.causes[.superseded] == 70)
        // A push service has them all the same.
        #expect(report.counters.uncertain == 70)
    }

    @Test("a run that waits for a gateway gives way to a rotation, however long it has waited")
    func rotationDue() async throws {
        let place = try await RunPlace([.apns: 30, .fcm: 70])
        let (good, bad) = (PlayedGateway(.apns), PlayedGateway(.fcm))
        bad.failing.update { $0 = .max }
        bad.acceptsBeforeFailure = 0
        place.isRotationDue.store(true, ordering: .relaxed)
        let report = await place.start([good, bad], patience: .zero).value
        #expect(report.isComplete && report.counters.unsent == 70)
    }

    @Test("the operator ends a run at once; what has left is counted")
    func ended() async throws {
        let place = try await RunPlace([.apns: 30, .fcm: 70])
        let (good, held) = (PlayedGateway(.apns), PlayedGateway(.fcm))
        held.isHolding.update { $0 = true }
        let run = place.start([good, held])
        _ = try await good.pushed.first { $0.count == 30 ? true : nil }
        _ = try await held.pushed.first { $0.count == 70 ? true : nil }
        place.control.value.end()
        let report = await run.value
        #expect(report.isComplete && report.wasEnded)
        #expect(report.counters.accepted == 30 && report.counters.unsent == 70)
    }

    @Test("no push token has more than three pushes in an hour, repetitions included")
    func hour() async throws {
        let place = try await RunPlace([.apns: 40])
        let gateway = PlayedGateway(.apns)
        // Every fifth push is repeated wherever that is allowed, as if its outcome were unknown.
        gateway.isRepeating.update { $0 = true }
        var repeated = RepeatedPushes()
        var accepted: [UInt64] = []
        for runs in 0..<3 {
            let recent = repeated.recent(now: .now, runs: runs)
            let report = await place.start([gateway], after: recent).value
            accepted.append(report.counters.accepted)
            #expect(report.counters.accepted + report.counters.abandoned == 40)
            #expect(report.causes[.hourlyLimit, default: 0] == Int(report.counters.abandoned))
            for tokens in place.repeated.value { repeated.add(tokens, now: .now) }
        }
        #expect(gateway.mostPushes == 3)
        #expect(accepted[0] == 40 && accepted[1] == 40 && (1..<40).contains(accepted[2]))
        // An hour later everybody has one again.
        let later = repeated.recent(now: .now + .seconds(3700), runs: 0)
        #expect(await place.start([gateway], after: later).value.counters.accepted == 40)
    }

    @Test("killed while a gateway is away, the rest of the run repeats nobody of the others")
    func killed() async throws {
        let place = try await RunPlace([.apns: 300, .fcm: 300], isRotated: true)
        let (good, bad) = (PlayedGateway(.apns), PlayedGateway(.fcm))
        bad.failing.update { $0 = .max }
        bad.acceptsBeforeFailure = 0
        let run = place.start([good, bad])
        _ = try await place.seen.first { $0.contains(where: \.isWaiting) ? true : nil }
        // As after kill -9: another process opens the file as it is.
        let checkpoint = try #require(try Checkpoint.open(place.checkpoint))
        place.control.value.stop()
        _ = await run.value
        bad.failing.update { $0 = 0 }
        let report = await place.start([good, bad], checkpoint).value
        #expect(report.isComplete && report.counters.accepted == 600)
        #expect(good.mostPushes == 1 && bad.mostPushes == 1)
        #expect(report.counters.rows == 600)
    }

    @Test(
        "killed again and again while rows move and gateways go away, it misses nobody",
        arguments: 0..<4)
    func killedOften(_ seed: UInt64) async throws {
        var random = SplitMix64(seed: seed)
        let rows: [PushService: Int] = [.apns: 2000, .fcm: 3000]
        let place = try await RunPlace(rows, isRotated: true)
        let gateways = [PlayedGateway(.apns), PlayedGateway(.fcm)]
        var checkpoint: Checkpoint?
        var counters = RunCounters()
        for kill in 0... {
            let gateway = gateways[kill % 2]
            gateway.failing.update { $0 = kill < 6 ? 2 : 0 }
            gateway.acceptsBeforeFailure = .random(in: 0..<600, using: &random)
            let run = place.start(gateways, checkpoint)
            if kill < 6 {
                let before = gateway.pushed.value.count
                let enough = min(before + .random(in: 1..<400, using: &random), rows.count)
                _ = try await gateway.pushed.first { $0.count >= enough ? true : nil }
                try await place.register(rows.mapValues { $0 * (kill + 1) / 8 })
            }
            // As after kill -9: another process opens the file as it is.
            if kill < 6 { checkpoint = try Checkpoint.open(place.checkpoint) }
            if kill < 6 { place.control.value.stop() }
            counters = await run.value.counters
            if kill == 6 { break }
        }
        #expect(gateways.map(\.pushed.value.count) == [2000, 3000])
        #expect(counters.rows >= 5000 && counters.accepted >= 5000)
    }
}

/// A store with registrations, and what a run needs.
private final class RunPlace: Sendable {
    private let place = StorePlace()
    private let store: Store
    private let loop: EventLoop
    /// Every state of the report that was published and differs in what it waits for.
    let seen = Observed<[BroadcastReport]>([])
    /// Of the last run.
    let repeated = Observed<[TokenDeduplicator]>([])
    let isMoreDue = Atomic<Bool>(false)
    let isRotationDue = Atomic<Bool>(false)
    let control = Observed(RunControl())
    var checkpoint: String { place.path + "/checkpoint" }

    /// - Parameter isRotated: whether half of them are in the previous generation.
    init(_ rows: [PushService: Int], isRotated: Bool = false) async throws {
        var configuration = StoreConfiguration(
            dataDirectory: place.data, keyFile: place.keys)
        configuration.reserveBytes = 1 << 20
        try Store.create(configuration)
        store = try Store(opening: configuration)
        loop = try EventLoop()
        let half = isRotated ? rows.mapValues { $0 / 2 } : [:]
        try await register(half)
        if isRotated { _ = await store.rotate() }
        try await register(rows, from: half)
    }

    func register(_ rows: [PushService: Int], from: [PushService: Int] = [:]) async throws {
        for (service, count) in rows {
            for number in from[service, default: 0]..<count {
                let name = Array("\(service.name) \(number)".utf8)
                let bytes = Blake2b.hash(name.span)
                let instance = try #require(InstanceToken(bytes))
                let token = try PushToken(
                    service: service, bytes: service == .fcm ? Array("t:\(number)".utf8) : bytes)
                store.submit(.register(instance, token)) { _ in }
                // Not more than the store's queue takes.
                if number % 256 == 0 { _ = await store.page(of: .current, after: [], limit: 1) }
            }
        }
        _ = await store.page(of: .current, after: [], limit: 1)
    }

    func start(
        _ gateways: [PlayedGateway], _ resumed: Checkpoint? = nil, blockBits: UInt8 = 10,
        after recent: RecentPushes = RecentPushes(runs: 0), patience: Duration = .seconds(300)
    ) -> Task<BroadcastReport, Never> {
        let log = Log(level: .error)
        var planner = BroadcastPlanner(
            store: store, wakes: StreamHub(loop: loop),
            feed: FeedFileServer(directory: place.path, maxAge: 60, log: log),
            settings: Settings(
                Settings.Values(Configuration(directory: place.path), gateways: gateways)))
        planner.reopenInterval = .milliseconds(50)
        planner.tailPatience = patience
        let header = Checkpoint.Header(
            run: 1, sequence: 1, reasons: .asked, generation: store.generationNumber, seed: 7,
            blockBits: blockBits)
        guard let checkpoint = resumed ?? (try? Checkpoint.create(checkpoint, header)) else {
            preconditionFailure("no checkpoint")
        }
        let control = RunControl()
        self.control.update { $0 = control }
        let run = BroadcastRun(
            checkpoint, control: control, planner: planner, believed: [], recent: recent, log: log,
            mustGiveWay: { [self] _, isIdle in
                isMoreDue.load(ordering: .relaxed)
                    || isIdle && isRotationDue.load(ordering: .relaxed)
            },
            publish: { [seen] report in
                seen.update { seen in
                    if seen.last?.isWaiting != report.isWaiting { seen.append(report) }
                }
            })
        return Task { [self] in
            let (report, repeated) = await run.run()
            self.repeated.update { $0 = repeated }
            return report
        }
    }
}
