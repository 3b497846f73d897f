import FoundationEssentials
import ReveilleTesting
import Testing
import WakeFeed
import WakeModel
import WakeSystem

@testable import Reveille

@Suite("The rules, as pure values")
struct StateMachineTests {
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

    private static let checked = Result<SyncOutcome, ClientError>.success(
        .checked(batches: 1, matches: 0))

    @Test("a schedule never runs two cycles, and serves every wake with a cycle begun after it")
    func schedule() {
        let time = SimulatedTime(seed: 5)
        for _ in 0..<200 {
            var schedule = CycleSchedule()
            var now = Duration.zero
            var running: CycleSchedule.Request?
            var lastWake: Duration?
            var lastBegin: Duration?
            var wakes = 0
            var begins = 0
            for _ in 0..<200 {
                now += .milliseconds(Int64(1 + time.random() % 500))
                switch time.random() % 3 {
                case 0:
                    schedule.request(.init(hint: time.random() % 5), at: now)
                    lastWake = now
                    wakes += 1
                case 1:
                    if let request = schedule.begin(at: now) {
                        #expect(running == nil)
                        running = request
                        lastBegin = now
                        begins += 1
                    }
                default:
                    if let served = running {
                        schedule.end(
                            Self.checked, served: served, at: now, cache: .zero, spread: .zero,
                            random: 0)
                        running = nil
                    }
                }
            }
            if let served = running {
                schedule.end(
                    Self.checked, served: served, at: now, cache: .zero, spread: .zero, random: 0)
            }
            // Whatever came after the last beginning is still asked for.
            if let lastWake, lastWake > (lastBegin ?? .zero) {
                #expect(schedule.begin(at: now) != nil)
            } else {
                #expect(schedule.nextStart == nil)
            }
            #expect(begins <= wakes)
        }
    }

    @Test("a head behind its hint is fetched again five times at most")
    func scheduleBehind() {
        var schedule = CycleSchedule()
        schedule.request(.init(hint: 9), at: .zero)
        var cycles = 0
        var now = Duration.zero
        while let start = schedule.nextStart {
            now = start
            guard let request = schedule.begin(at: now) else { break }
            #expect(request.hint == 9)
            cycles += 1
            schedule.end(
                .success(.behind), served: request, at: now, cache: .seconds(30),
                spread: .seconds(60), random: 0.5)
        }
        #expect(cycles == 5)
        #expect(now == .seconds(240))
    }

    @Test("a clock that was set back by a year keeps nobody waiting for a year")
    func clockSetBack() throws {
        let token = try #require(InstanceToken((0..<32).map { UInt8($0) }))
        var desired = DesiredRegistration(instanceToken: token, kind: .absent, revision: 1)
        desired.notBefore = 2_000_000_000
        #expect(Reconciler.step(desired, now: 1000, mayRegister: true) == .delete)
        desired.notBefore = 22_600
        #expect(Reconciler.step(desired, now: 1000, mayRegister: true) == .wait(until: 22_600))
    }

    @Test("heads without a completed check are no silence, and a warning of their own")
    func notChecked() {
        var health = FeedHealth(startingAt: 0)
        let day: Int64 = 86_400
        for hour in 0..<240 {
            health.checkBegan(now: Int64(hour) * 3600)
            health.headVerified(now: Int64(hour) * 3600)
            let warning = health.silence(now: Int64(hour) * 3600, unchecked: 3...5)
            let isDue = hour == 48 || hour == 168
            #expect(
                warning == (isDue ? .notChecked(first: 3, last: 5, since: Date(seconds: 0)) : nil))
        }
        // A clock that was set back counts from there.
        #expect(health.silence(now: -5 * day, unchecked: 3...5) == nil)
        #expect(health.checked == -5 * day)
    }

    @Test("a device that was off for days warns only after six hours of trying")
    func wasOff() {
        var health = FeedHealth(startingAt: 0)
        health.checkBegan(now: 0)
        health.checkCompleted(now: 0)
        let on: Int64 = 3 * 86_400
        #expect(health.silence(now: on, unchecked: 3...5) == nil)
        health.checkBegan(now: on)
        health.headVerified(now: on)
        #expect(health.silence(now: on + 6 * 3600 - 1, unchecked: 3...5) == nil)
        #expect(health.silence(now: on + 6 * 3600, unchecked: 3...5) != nil)
    }
}
