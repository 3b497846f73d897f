import Glibc
import TestSupport
import Testing
import WakeStore
import WakeSystem

@Suite("A lock of an audit", .timeLimit(.minutes(5)))
struct AuditLockTests {
    @Test("makes one delete wait for a quarter of a second at most, and no other")
    func bounded() async throws {
        let place = StorePlace()
        try await place.create(registrations: 10)
        let store = try Store(opening: place.configuration)
        let files = try [0, 1].map { try OpenFile(place.file($0), flags: O_RDONLY) }
        for file in files { try file.lockExclusively() }
        var waits: [Duration] = []
        for number in 0..<9 {
            let start = ContinuousClock.now
            #expect(await store.ask(.delete(Known.token(number))) == .done)
            waits.append(ContinuousClock.now - start)
            // It does not wait for what is to be erased before the answer.
            #expect(place.left(of: [number]) == [])
        }
        // A tenth and a bit for each of the two files.
        #expect(waits[0] >= .milliseconds(220))
        // On average: a busy machine may be late for one.
        #expect(waits.dropFirst().reduce(.zero, +) < .milliseconds(220) * 8, "\(waits)")
        // One that gives it back is waited for again.
        for file in files { file.unlock() }
        #expect(await store.ask(.delete(Known.token(99))) == .done)
        try files[1].lockExclusively()
        let start = ContinuousClock.now
        #expect(await store.ask(.delete(Known.token(9))) == .done)
        #expect(ContinuousClock.now - start >= .milliseconds(110))
        await store.close()
    }

    @Test("can be taken as soon as a store is open, and after a rotation")
    func admitted() async throws {
        let place = StorePlace()
        try await place.create(registrations: 4)
        let store = try Store(opening: place.configuration)
        for generation in 0...1 as ClosedRange<UInt64> {
            try OpenFile(place.file(generation), flags: O_RDONLY).lockExclusively()
        }
        try await store.rotated()
        try OpenFile(place.file(2), flags: O_RDONLY).lockExclusively()
        await store.close()
    }
}
