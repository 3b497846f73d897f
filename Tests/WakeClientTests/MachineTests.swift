import Testing
import WakeFeed
import WakeModel

@testable import WakeClient

@Suite("The rules, as pure values")
struct MachineTests {
    @Test("back-off is full jitter below a bound that doubles up to its ceiling")
    func backoff() {
        let backoff = Backoff.registration
        for failures in 1...40 {
            let bound = min(Duration.seconds(21_600), .seconds(30) * (1 << min(failures - 1, 20)))
            #expect(backoff.delay(failures: failures, random: 0) == .seconds(1))
            #expect(backoff.delay(failures: failures, random: 0.999) <= bound)
            #expect(backoff.delay(failures: failures, random: 0.999) >= bound * 0.99)
        }
        #expect(backoff.delay(failures: 1, random: 0, floor: .seconds(100)) == .seconds(100))
        #expect(backoff.delay(failures: 1, random: 0, floor: .seconds(99_999)) == .seconds(21_600))
    }

    @Test("the poll interval is a random half to one and a half, and clamped whatever is asked")
    func pollInterval() {
        #expect(PollSchedule.interval(pollSeconds: 0, random: 0.5) == .seconds(14_400))
        #expect(PollSchedule.interval(pollSeconds: 3600, random: 0) == .seconds(1800))
        #expect(PollSchedule.interval(pollSeconds: 1, random: 0.9) == .seconds(900))
        #expect(PollSchedule.interval(pollSeconds: .max, random: 0.1) == .seconds(86_400))
    }

    @Test("a gate never runs two cycles, and serves every wake with a cycle begun after it")
    func gate() {
        let time = SimulatedTime(seed: 5)
        for _ in 0..<200 {
            var gate = CycleGate()
            var now = Duration.zero
            var running: CycleGate.Request?
            var lastWake: Duration?
            var lastBegin: Duration?
            var wakes = 0
            var begins = 0
            for _ in 0..<200 {
                now += .milliseconds(Int64(1 + time.random() % 500))
                switch time.random() % 3 {
                case 0:
                    gate.ask(.init(hint: time.random() % 5), at: now)
                    lastWake = now
                    wakes += 1
                case 1:
                    if let request = gate.begin(at: now) {
                        #expect(running == nil)
                        running = request
                        lastBegin = now
                        begins += 1
                    }
                default:
                    if let served = running {
                        gate.end(
                            .advanced, served: served, at: now, cache: .zero, spread: .zero,
                            random: 0)
                        running = nil
                    }
                }
            }
            if let served = running {
                gate.end(
                    .advanced, served: served, at: now, cache: .zero, spread: .zero, random: 0)
            }
            // Whatever came after the last beginning is still asked for.
            if let lastWake, lastWake > (lastBegin ?? .zero) {
                #expect(gate.begin(at: now) != nil)
            } else {
                #expect(gate.nextStart == nil)
            }
            #expect(begins <= wakes)
        }
    }

    @Test("a head behind its hint is looked at again five times at most")
    func gateBehind() {
        var gate = CycleGate()
        gate.ask(.init(hint: 9), at: .zero)
        var looks = 0
        var now = Duration.zero
        while let start = gate.nextStart {
            now = start
            guard let request = gate.begin(at: now) else { break }
            #expect(request.hint == 9)
            looks += 1
            gate.end(
                .behind, served: request, at: now, cache: .seconds(30), spread: .seconds(60),
                random: 0.5)
        }
        #expect(looks == 5)
        #expect(now == .seconds(240))
    }

    @Test("random wishes and random faults end with the server's state as wished, one row at most")
    func reconciliation() throws {
        for seed in 1...300 {
            let time = SimulatedTime(seed: UInt64(seed))
            var rows: [[UInt8]: [UInt8]] = [:]
            var wish: RegistrationWish?
            var wanted: [UInt8]?
            var now: Int64 = 1_800_000_000
            for step in 0..<60 {
                now += Int64(time.random() % 30_000)
                // New wishes for a while, then only faults, then none.
                if step < 20, time.random() % 4 == 0 {
                    let text = Array("token-number-\(time.random() % 5)".utf8)
                    let isAbsent = time.random() % 3 == 0
                    if wish != nil || !isAbsent {
                        wanted = isAbsent ? nil : text
                        wish = RegistrationWish(
                            instanceToken: try wish?.instanceToken
                                ?? #require(InstanceToken(time.randomBytes(32))),
                            kind: isAbsent
                                ? .absent : .registered(try PushToken(service: .fcm, bytes: text)),
                            revision: (wish?.revision ?? 0) + 1)
                    }
                }
                let next = Reconciler.step(wish, now: now, mayRegister: true)
                guard let current = wish, next == .put || next == .delete else { continue }
                let fault = step < 40 ? time.random() % 4 : 3
                let key = current.instanceToken.bytes.copy()
                if fault != 0, case .registered(let token) = current.kind {
                    rows[key] = token.bytes.copy()
                } else if fault != 0 {
                    rows[key] = nil
                }
                let answer: Reconciler.Answer =
                    fault == 3 ? .acknowledged : .failed(retryAfter: nil)
                wish = Reconciler.apply(
                    answer, to: current, now: now, random: time.randomUnit())
                #expect(rows.count <= 1)
            }
            now += 300_000
            if let current = wish, Reconciler.step(wish, now: now, mayRegister: true) != .rest {
                let key = current.instanceToken.bytes.copy()
                if case .registered(let token) = current.kind {
                    rows[key] = token.bytes.copy()
                } else {
                    rows[key] = nil
                }
            }
            #expect(Array(rows.values) == [wanted].compactMap(\.self), "seed \(seed)")
        }
    }

    @Test("a clock that was set back by a year keeps nobody waiting for a year")
    func clockSetBack() throws {
        let token = try #require(InstanceToken((0..<32).map { UInt8($0) }))
        var wish = RegistrationWish(instanceToken: token, kind: .absent, revision: 1)
        wish.notBefore = 2_000_000_000
        #expect(Reconciler.step(wish, now: 1000, mayRegister: true) == .delete)
        wish.notBefore = 22_600
        #expect(Reconciler.step(wish, now: 1000, mayRegister: true) == .wait(until: 22_600))
    }

    @Test("only 204 is success")
    func statuses() {
        for status in 100...599 {
            let answer = Reconciler.answer(status: status, retryAfter: nil)
            #expect((answer == .acknowledged) == (status == 204))
        }
    }

    @Test("a pause is counted from when it was first seen, and holds 72 hours at most")
    func pause() {
        let settings = FeedSettings(flags: .paused, pauseSeconds: .max)
        let orders = PublisherOrders(settings: settings, seen: 1000)
        let end: Int64 = 1000 + 72 * 3600
        #expect(orders.pausedUntil(now: 1000) == end)
        #expect(orders.pausedUntil(now: end) == nil)
        #expect(orders.pausedUntil(now: 999) == nil)
        #expect(PublisherOrders().pausedUntil(now: 5) == nil)
    }

    @Test("silence is told at two and at seven days, each once, and a head ends it")
    func silence() {
        var watch = Watch(start: 0)
        let day: Int64 = 86_400
        #expect(watch.silence(now: 2 * day - 1) == nil)
        #expect(watch.silence(now: 2 * day) == .silence(days: 2))
        #expect(watch.silence(now: 6 * day) == nil)
        #expect(watch.silence(now: 8 * day) == .silence(days: 7))
        #expect(watch.silence(now: 99 * day) == nil)
        watch.headVerified(now: 100 * day)
        #expect(watch.silence(now: 102 * day) == .silence(days: 2))
    }
}
