import TestSupport
import Testing

@testable import WakePush
@testable import WakeServer

@Suite("ReplayGuard")
struct ReplayGuardTests {
    static let start = 1_700_000_000

    private func refusal(
        _ replays: inout ReplayGuard, _ created: Int, _ number: UInt64, now: Int
    ) -> SignatureError? {
        do throws(SignatureError) {
            try replays.admit(created: created, nonce: SignatureNonce(0, number), now: now)
            return nil
        } catch {
            return error
        }
    }

    @Test("the window is 60 seconds back and 5 ahead, both included")
    func window() {
        let now = Self.start + 1000
        for (created, isNew) in [(-61, false), (-60, true), (0, true), (5, true), (6, false)] {
            var replays = ReplayGuard(start: Self.start)
            let refusal = refusal(&replays, now + created, 1, now: now)
            #expect(refusal == (isNew ? nil : .stale), "\(created)")
        }
    }

    @Test("what was made before the start and five seconds is stale")
    func afterStart() {
        var replays = ReplayGuard(start: Self.start)
        #expect(refusal(&replays, Self.start + 4, 1, now: Self.start) == .stale)
        #expect(refusal(&replays, Self.start + 5, 2, now: Self.start) == .stale)
        #expect(refusal(&replays, Self.start + 6, 2, now: Self.start + 1) == nil)
    }

    @Test("whatever one took, the next does not, also when it starts in the same second")
    func restart() {
        for created in Self.start - 60...Self.start + 5 {
            var before = ReplayGuard(start: Self.start - 1000)
            #expect(refusal(&before, created, 1, now: Self.start) == nil)
            var after = ReplayGuard(start: Self.start)
            for now in Self.start...Self.start + 70 {
                #expect(refusal(&after, created, 1, now: now) == .stale)
            }
        }
    }

    @Test("a nonce passes once, another passes as well")
    func once() {
        var replays = ReplayGuard(start: Self.start)
        let now = Self.start + 100
        #expect(refusal(&replays, now, 1, now: now) == nil)
        #expect(refusal(&replays, now, 1, now: now + 30) == .replayed)
        #expect(refusal(&replays, now, 2, now: now + 30) == nil)
        #expect(refusal(&replays, now, 1, now: now + 61) == .stale)
    }

    @Test("a clock that is set back makes nothing new again")
    func setBack() {
        var replays = ReplayGuard(start: Self.start)
        let now = Self.start + 100
        #expect(refusal(&replays, now, 1, now: now) == nil)
        #expect(refusal(&replays, now + 1000, 2, now: now + 1000) == nil)
        #expect(refusal(&replays, now, 1, now: now) == .stale)
        // Nothing made in this second was forgotten: the clock was wrong and is right again.
        #expect(refusal(&replays, now + 1, 3, now: now + 1) == nil)
    }

    @Test("beyond its capacity it refuses by age instead of forgetting")
    func capacity() {
        var replays = ReplayGuard(start: Self.start, capacity: 3)
        let now = Self.start + 100
        for number in 0..<3 {
            #expect(refusal(&replays, now + number, UInt64(number), now: now + 2) == nil)
        }
        #expect(refusal(&replays, now + 2, 9, now: now + 2) == nil)
        #expect(replays.floor == now + 1)
        #expect(refusal(&replays, now, 0, now: now + 2) == .stale)
        #expect(refusal(&replays, now + 1, 1, now: now + 2) == .replayed)
    }

    @Test("whatever clocks and requests do, nothing passes twice", arguments: 0..<50)
    func property(_ seed: UInt64) {
        var generator = SplitMix64(seed: seed)
        var replays = ReplayGuard(start: Self.start, capacity: 1 + Int(seed))
        var passed: Set<SignatureNonce> = []
        var sent: [(created: Int, nonce: SignatureNonce)] = []
        var now = Self.start
        for _ in 0..<2000 {
            switch Int.random(in: 0..<20, using: &generator) {
            case 0: now -= Int.random(in: 0..<200, using: &generator)
            case 1: now += Int.random(in: 0..<200, using: &generator)
            default: now += Int.random(in: 0..<3, using: &generator)
            }
            let isOld = Bool.random(using: &generator)
            let request: (created: Int, nonce: SignatureNonce) =
                isOld && !sent.isEmpty
                ? sent[Int.random(in: 0..<sent.count, using: &generator)]
                : (
                    now + Int.random(in: -70...10, using: &generator),
                    SignatureNonce(generator.next(), generator.next())
                )
            sent.append(request)
            do throws(SignatureError) {
                try replays.admit(created: request.created, nonce: request.nonce, now: now)
                #expect(SignatureWindow.contains(request.created, now: now))
                let isNew = passed.insert(request.nonce).inserted
                #expect(isNew)
            } catch {
                #expect(error == .stale || passed.contains(request.nonce))
            }
        }
    }
}
