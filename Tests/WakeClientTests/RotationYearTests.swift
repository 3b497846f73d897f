import ReveilleTesting
import TestSupport
import Testing
import WakeModel
import WakeServer
import WakeSystem

@testable import Reveille

/// A year of the service's schedule and the client library's renewals, without either's files.
@Suite("A year of rotations and renewals", .timeLimit(.minutes(5)))
struct RotationYearTests {
    private static let day = 86_400

    /// Back for three days at least: the service may be off for two of them, and a client that
    /// failed tries every six hours.
    @Test("who is away for up to four days at a time is never dropped, at the shortest interval")
    func renewed() {
        for seed in 1...3 as ClosedRange<UInt64> {
            var year = Year(days: RotationSchedule.days.lowerBound, seed: seed)
            year.run(clients: 150, longestOffline: 4 * Self.day)
            #expect(year.rotations >= 40)
            #expect(year.offlineSpells > 1000)
            #expect(year.lost == 0, "seed \(seed)")
        }
    }

    @Test("the simulation is not blind: with rotations every three days it sees losses")
    func control() {
        var year = Year(days: 3, seed: 1)
        year.run(clients: 150, longestOffline: 4 * Self.day)
        #expect(year.lost > 100)
    }

    @Test("what the service takes for the longest time to a renewal is the library's")
    func longestRenewal() {
        #expect(
            Reconciler.renewal.upperBound == Double(RotationSchedule.longestRenewal))
    }

    @Test("who is away for longer is dropped, and back with the first renewal after")
    func away() {
        var year = Year(days: 7, seed: 4)
        year.run(clients: 100, longestOffline: 40 * Self.day)
        #expect(year.lost > 100)
        #expect(year.stillMissing == 0)
    }

    @Test("what nobody renews is gone after one to two intervals of running time")
    func untouched() {
        for seed in 1...20 as ClosedRange<UInt64> {
            var year = Year(days: 7, seed: seed)
            let life = year.lifeOfUntouched()
            #expect((7.0...14.01).contains(life), "\(life) days")
        }
    }
}

/// The world of one service and its clients, in steps of ten minutes.
private struct Year {
    private static let day = 86_400
    private static let step = 600

    private struct Client {
        var desired: DesiredRegistration
        /// Until when it can reach nobody, and when that begins again.
        var offlineUntil = 0
        var offlineFrom = 0
        /// The number of the generation that holds its row; nil: none does.
        var row: UInt64?
        var isMissed = false
    }

    private var random: SplitMix64
    private var schedule: RotationSchedule
    private var now = 0
    /// Of the service's machine, which is off now and then.
    private var uptime = 0
    private var offUntil = 0
    /// A broadcast may be in work when a rotation is due.
    private var rotatesAt: Int?
    private var clients: [Client] = []
    private var longestOffline = 0

    private(set) var rotations = 0
    private(set) var offlineSpells = 0
    private(set) var lost = 0

    init(days: Int, seed: UInt64) {
        random = SplitMix64(seed: seed)
        schedule = RotationSchedule(interval: days * Self.day, record: nil, generation: 1)
        schedule.advance(to: 0)
    }

    mutating func run(clients count: Int, longestOffline: Int) {
        self.longestOffline = longestOffline
        clients = (0..<count).map { _ in Client(desired: desired()) }
        while now < 365 * Self.day {
            advance()
            for index in clients.indices { live(index) }
        }
    }

    /// Clients that are online, tried, and have no row at the end of the year.
    var stillMissing: Int {
        clients.count {
            $0.row == nil && now >= $0.offlineUntil && $0.desired.notBefore < now - Self.day
        }
    }

    /// Days of running time from a registration to its end.
    mutating func lifeOfUntouched() -> Double {
        clients = []
        for _ in 0..<Int.random(in: 0..<2000, using: &random) { advance() }
        let (begun, born) = (schedule.record.generation, total)
        while schedule.record.generation < begun + 2 { advance() }
        return Double(total - born) / Double(Self.day)
    }

    /// Running time of all starts.
    private var total = 0

    private mutating func desired() -> DesiredRegistration {
        let bytes = (0..<32).map { _ in UInt8.random(in: 0...255, using: &random) }
        guard let token = InstanceToken(bytes),
            let push = try? PushToken(service: .fcm, text: Array("token".utf8).span)
        else { preconditionFailure("32 random bytes, and visible ASCII") }
        return DesiredRegistration(instanceToken: token, kind: .registered(push), revision: 1)
    }

    // MARK: The service

    private var isUp: Bool { now >= offUntil }

    private mutating func advance() {
        now += Self.step
        guard isUp else { return }
        uptime += Self.step
        total += Self.step
        // Off once in two weeks, for up to two days; then another start.
        if Int.random(in: 0..<2016, using: &random) == 0 {
            offUntil = now + Int.random(in: 0..<2 * Self.day, using: &random)
            // The uptime that the next start finds says nothing.
            uptime = Int.random(in: 0..<1 << 40, using: &random)
            schedule = RotationSchedule(
                interval: schedule.interval, record: schedule.record,
                generation: schedule.record.generation)
            schedule.advance(to: uptime)
            return
        }
        for part in 0..<10 { schedule.advance(to: uptime - Self.step + (part + 1) * 60) }
        guard schedule.isDue else { return }
        let time = rotatesAt ?? now + Int.random(in: 0..<7200, using: &random)
        rotatesAt = time
        if now >= time { rotate() }
    }

    private mutating func rotate() {
        rotations += 1
        rotatesAt = nil
        schedule.rotated(to: schedule.record.generation + 1)
        for index in clients.indices {
            guard let row = clients[index].row, row + 2 <= schedule.record.generation else {
                continue
            }
            clients[index].row = nil
            lost += 1
        }
    }

    // MARK: A client

    private mutating func live(_ index: Int) {
        var client = clients[index]
        defer { clients[index] = client }
        if now >= client.offlineFrom {
            offlineSpells += 1
            client.offlineUntil = now + Int.random(in: 0..<longestOffline, using: &random)
            client.offlineFrom =
                client.offlineUntil
                + Int.random(in: 3 * Self.day..<10 * Self.day, using: &random)
        }
        guard client.desired.notBefore <= now,
            Reconciler.step(client.desired, now: Int64(now), mayRegister: true) == .put
        else { return }
        let isReached = isUp && now >= client.offlineUntil
        if isReached { client.row = schedule.record.generation }
        let answer: Reconciler.Answer = isReached ? .acknowledged : .failed(retryAfter: nil)
        let draw = Double.random(in: 0..<1, using: &random)
        if let next = Reconciler.apply(
            answer, to: client.desired, now: Int64(now), random: draw)
        {
            client.desired = next
        }
    }
}
