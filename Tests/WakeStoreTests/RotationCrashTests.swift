private import Glibc
import TestSupport
import Testing
import WakeStore
import WakeSystem

@Suite("A rotation that is killed completes or is done again", .timeLimit(.minutes(60)))
struct RotationCrashTests {
    /// Every step and 4,000 kills with `REVEILLE_LONG=1`: with the 5,000 of `CrashTests` and the
    /// 1,000 of the built service 10,000 at random moments.
    private static let isLong = unsafe getenv("REVEILLE_LONG") != nil
    private static let tokens = 0..<35

    @Test("kill -9 at the steps of three rotations: nothing lost, nothing dropped comes back")
    func everyStep() async throws {
        // How many steps there are, first.
        var whole = RotationModel()
        let place = StorePlace()
        try await place.create()
        let worker = StoreWorkerProcess("rotate", data: place.data, keys: place.keys, [0])
        for line in worker.lines() { whole.note(line) }
        #expect(worker.finish() == 0 && whole.others == [] && whole.refusals == [:])
        let steps = try #require(whole.steps)
        #expect(steps > 150 && whole.rotations == 3)
        let stride = Self.isLong ? 1 : max(1, steps / 150)
        for step in Swift.stride(from: 1, through: steps, by: stride) { try await die(at: step) }
    }

    private func die(at step: Int) async throws {
        let place = StorePlace()
        try await place.create()
        let worker = StoreWorkerProcess("rotate", data: place.data, keys: place.keys, [step])
        var model = RotationModel()
        for line in worker.lines() { model.note(line) }
        // Steps differ a little with how operations meet in batches: the last may not be reached.
        let status = worker.finish()
        #expect(status == 128 + SIGKILL || model.steps != nil)
        try await model.check(place, Self.tokens, "step \(step)")
    }

    @Test("kill -9 at any moment of rotations under load")
    func anyMoment() async throws {
        let place = StorePlace()
        try await place.create()
        var model = RotationModel()
        var random = SystemRandomNumberGenerator()
        for run in 1...(Self.isLong ? 4000 : 50) {
            let worker = StoreWorkerProcess(
                "spin", data: place.data, keys: place.keys, [run, 24])
            try #require(worker.line() == "open")
            for _ in 0..<Int.random(in: 1...400, using: &random) {
                model.note(try #require(worker.line()))
            }
            #expect(worker.kill() == 128 + SIGKILL)
            for line in worker.lines() { model.note(line) }
            let left = place.left(of: model.deleted)
            try #require(left == [], "run \(run): ids of tokens \(left) in a file")
            try await model.check(place, 0..<48, "run \(run)")
        }
        #expect(model.rotations > 20 && model.acknowledged > 500)
        #expect(model.others == [] && model.refusals == [:])
    }
}
