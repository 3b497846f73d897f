private import Glibc
import TestSupport
import Testing
import WakeStore

@Suite("System calls that fail make no false answers", .timeLimit(.minutes(30)))
struct FaultTests {
    /// Kinds of calls by the numbers `store-worker` takes.
    enum Call: Int, CaseIterable {
        case sync
        case write
        case truncate
        case open
        case rename
        case unlink

        /// What a store does with files of its own while it only registers and deletes.
        static let plain: [Call] = [.sync, .write, .truncate, .open]
    }

    /// Every k-th with `REVEILLE_LONG=1`, otherwise some.
    private static let places =
        unsafe getenv("REVEILLE_LONG") == nil
        ? Array(1...6) + [9, 14, 17, 21, 33, 50, 80] : Array(1...200)

    /// Runs every place up to the number of calls that a run makes.
    /// - Parameter run: returns that number; nil when the worker did not get to its end.
    private func everywhere(_ run: (Int) async throws -> Int?) async throws {
        var last = Int.max
        for at in Self.places where at <= last {
            guard let calls = try await run(at), calls < at else { continue }
            // A little more: calls differ with how operations meet in batches.
            last = calls * 3 / 2
        }
    }

    @Test("a call that fails once costs no acknowledged write", arguments: Call.plain)
    func once(_ call: Call) async throws {
        try await everywhere { try await run(call, at: $0, EIO, isLasting: false) }
    }

    @Test("a call that fails from then on costs no acknowledged write", arguments: Call.plain)
    func lasting(_ call: Call) async throws {
        try await everywhere { try await run(call, at: $0, EIO, isLasting: true) }
    }

    @Test("a disk that is full once or for good costs no acknowledged write")
    func full() async throws {
        try await everywhere { try await run(.write, at: $0, ENOSPC, isLasting: false) }
        try await everywhere { try await run(.write, at: $0, ENOSPC, isLasting: true) }
    }

    @Test("the same while rotations are in work: once, and from then on", arguments: Call.allCases)
    func rotating(_ call: Call) async throws {
        var hit = 0
        for number in call == .write ? [EIO, ENOSPC] : [EIO] {
            for isLasting in [false, true] {
                try await everywhere { at in
                    let (isHit, calls) = try await rotate(
                        call, at: at, number, isLasting: isLasting)
                    hit += isHit ? 1 : 0
                    return calls
                }
            }
        }
        // The control: failures were noticed.
        #expect(hit > 0)
    }

    @Test("for want of descriptors nothing ends and no row is lost, in rotations neither")
    func descriptors() async throws {
        for isLasting in [false, true] {
            try await everywhere { try await run(.open, at: $0, EMFILE, isLasting: isLasting) }
            try await everywhere {
                try await rotate(.open, at: $0, EMFILE, isLasting: isLasting).calls
            }
        }
    }

    @Test("a failed flush ends the process at once, without another answer")
    func flush() async throws {
        let place = StorePlace()
        try await place.create(registrations: 3)
        let worker = StoreWorkerProcess(
            "fault", data: place.data, keys: place.keys, [Call.sync.rawValue, 1, Int(EIO), 0])
        let lines = worker.lines()
        // Other threads may still have asked something after this line.
        #expect(lines.contains("fatal"))
        #expect(!lines.contains("end"))
        #expect(!lines.contains { $0.hasPrefix("ok") })
        #expect(worker.finish() == 1)
    }

    @Test("a file system that cannot be written answers unavailable, and the process lives")
    func unwritable() async throws {
        let place = StorePlace()
        try await place.create(registrations: 12)
        let worker = StoreWorkerProcess(
            "fault", data: place.data, keys: place.keys, [Call.write.rawValue, 1, Int(EROFS), 1])
        var model = AcknowledgedModel()
        for line in worker.lines() { model.note(line) }
        #expect(worker.finish() == 0)
        #expect(model.acknowledged == 0)
        #expect(model.refusals.keys.sorted() == ["unavailable"])
        #expect(model.hasEnded)
    }

    private func run(
        _ call: Call, at: Int, _ number: Int32, isLasting: Bool
    ) async throws -> Int? {
        let failure = Failure(call: call, at: at, number: number, isLasting: isLasting)
        let place = StorePlace()
        var model = AcknowledgedModel()
        let status = try await failure.run(in: place) { model.note($0) }
        // SIGALRM would say that it hung.
        #expect(status == 0 || (call == .sync && status == 1), failure.comment)
        #expect(model.left == [], failure.comment)
        #expect(try Soundness.check(place) == "ok", failure.comment)
        let store = try Store(opening: place.configuration)
        let wrong = await model.compare(store, tokens: 0..<12)
        await store.close()
        #expect(wrong.isEmpty, "\(failure): \(wrong)")
        return model.calls
    }

    /// - Returns: whether anything came of the failure.
    private func rotate(
        _ call: Call, at: Int, _ number: Int32, isLasting: Bool
    ) async throws -> (isHit: Bool, calls: Int?) {
        let failure = Failure(call: call, at: at, number: number, isLasting: isLasting)
        let place = StorePlace()
        var model = RotationModel()
        let status = try await failure.run(in: place, rotates: true) { model.note($0) }
        // From the rename of a rotation on there is no way back but an end.
        let isFatal = model.others == ["fatal"] && !model.hasEnded
        let isSound = model.others == [] && model.hasEnded
        #expect(
            status == 1 ? isFatal && number != EMFILE : status == 0 && isSound,
            "\(failure): \(status) \(model.others)")
        try await model.check(place, 0..<12, "\(failure)")
        return (isFatal || !model.refusals.isEmpty || model.rotations < 3, model.calls)
    }

    /// A call that fails in a worker.
    private struct Failure {
        let call: Call
        let at: Int
        let number: Int32
        let isLasting: Bool

        var comment: Comment { "\(self)" }

        /// Runs a worker on a new store, with rotations or without.
        /// - Returns: its exit status.
        func run(
            in place: StorePlace, rotates: Bool = false, _ note: (String) -> Void
        ) async throws -> Int32 {
            try await place.create()
            let worker = StoreWorkerProcess(
                "fault", data: place.data, keys: place.keys,
                [call.rawValue, at, Int(number), isLasting ? 1 : 0, rotates ? 1 : 0])
            for line in worker.lines() { note(line) }
            return worker.finish()
        }
    }
}
