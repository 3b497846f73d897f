import Synchronization
import Testing

@testable import WakeFetch

@Suite("Looking names up", .timeLimit(.minutes(5)))
struct ResolverTests {
    private func error(_ resolver: SystemResolver, _ host: String) async -> ResolveError? {
        do throws(ResolveError) {
            _ = try await resolver.addresses(of: Array(host.utf8))
            return nil
        } catch {
            return error
        }
    }

    @Test(
        "addresses in every writing are refused, and never come to the system",
        arguments: [
            "127.0.0.1", "127.1", "0", "2130706433", "0x7f000001", "0177.0.0.1", "a.0x7f",
            "push.example.1", "8.8.8.8", "::1", "[::1]", "fe80::1%lo", "", ".", "a..b", ".a.b",
            "a.b.", "-a.b", "a_b.c", "a b.c", "a.b:443", "a.b/c", "x@a.b", "münchen.de", "a.b\0.c",
        ])
    func numeric(_ host: String) async {
        let asked = Atomic(0)
        let resolver = SystemResolver(slots: 1, lateSeconds: 600) { _, _ in
            asked.add(1, ordering: .relaxed)
            return .success([IPAddress(.v4, 1)])
        }
        #expect(await error(resolver, host) == .notAName)
        #expect(asked.load(ordering: .relaxed) == 0)
    }

    @Test("the system answers for localhost, and not for a name that cannot exist")
    func system() async throws {
        let resolver = SystemResolver()
        let addresses = try await resolver.addresses(of: Array("localhost".utf8))
        #expect(!addresses.isEmpty)
        #expect(Set(addresses).count == addresses.count)
        #expect(addresses.allSatisfy { !$0.isGlobal })
        // RFC 6761 §6.4; a machine without a name server says temporarily.
        let end = await error(resolver, "no-such-host.invalid")
        #expect([.notFound, .temporarily, .timedOut].contains(end))
    }

    @Test("what a lookup ends with is what the caller gets")
    func answers() async throws {
        let both = [IPAddress(.v6, 1 << 125), IPAddress(.v4, 0x0808_0808)]
        let resolver = SystemResolver(slots: 2, lateSeconds: 600) { host, _ in
            switch host.first {
            case UInt8(ascii: "g"): .success(both)
            case UInt8(ascii: "n"): .failure(.notFound)
            default: .failure(.temporarily)
            }
        }
        #expect(try await resolver.addresses(of: Array("good.example".utf8)) == both)
        #expect(await error(resolver, "none.example") == .notFound)
        #expect(await error(resolver, "busy.example") == .temporarily)
    }

    @Test("a lookup that hangs holds its own slot only")
    func hanging() async throws {
        let gate = Gate()
        let (entered, note) = AsyncStream.makeStream(of: Void.self)
        let resolver = SystemResolver(slots: 2, lateSeconds: 600) { host, _ in
            guard host.first == UInt8(ascii: "h") else { return .success([IPAddress(.v4, 1)]) }
            note.yield()
            gate.pass()
            return .failure(.notFound)
        }
        let hung = Task { await error(resolver, "hangs.example") }
        _ = await entered.first { _ in true }
        for _ in 0..<50 { #expect(await error(resolver, "quick.example") == nil) }
        gate.open()
        #expect(await hung.value == .notFound)
    }

    @Test("lookups that hang end for their callers, and give their slots to others")
    func timeLimit() async throws {
        let gate = Gate()
        let resolver = SystemResolver(slots: 2, lateSeconds: 1) { host, _ in
            if host.first == UInt8(ascii: "h") { gate.pass() }
            return .success([IPAddress(.v4, 1)])
        }
        let hung = (0..<2).map { _ in Task { await error(resolver, "hangs.example") } }
        for task in hung { #expect(await task.value == .timedOut) }
        for _ in 0..<8 { #expect(await error(resolver, "quick.example") == nil) }
        for _ in 0..<2 { gate.open() }
    }

    @Test("names that were resolved before go first, then those never asked for, then the late")
    func order() async throws {
        let gate = Gate()
        let asked = Mutex<[String]>([])
        let isHeld = Atomic(false)
        let resolver = SystemResolver(slots: 1, lateSeconds: 5) { host, seconds in
            asked.withLock { $0.append("\(String(decoding: host, as: UTF8.self)) \(seconds)") }
            if isHeld.load(ordering: .relaxed), host.first == UInt8(ascii: "h") { gate.pass() }
            return host.first == UInt8(ascii: "l")
                ? .failure(.temporarily) : .success([IPAddress(.v4, 1)])
        }
        #expect(await error(resolver, "known.example") == nil)
        #expect(await error(resolver, "late.example") == .temporarily)
        isHeld.store(true, ordering: .relaxed)
        asked.withLock { $0 = [] }
        let first = Task { await error(resolver, "held.example") }
        while asked.withLock({ $0.isEmpty }) { await Task.yield() }
        let others = ["late.example", "new.example", "known.example"].map { name in
            Task { await error(resolver, name) }
        }
        // Until they wait.
        for _ in 0..<1000 { await Task.yield() }
        gate.open()
        _ = await first.value
        for task in others { _ = await task.value }
        #expect(
            asked.withLock { $0 } == [
                "held.example 2", "known.example 2", "new.example 2", "late.example 5",
            ])
    }

    @Test("never more lookups at once than slots, and each is made once")
    func bounded() async throws {
        let now = Atomic(0)
        let most = Atomic(0)
        let made = Atomic(0)
        let gate = Gate()
        let resolver = SystemResolver(slots: 3, lateSeconds: 600) { _, _ in
            let running = now.add(1, ordering: .relaxed).newValue
            most.max(running, ordering: .relaxed)
            made.add(1, ordering: .relaxed)
            gate.pass()
            now.subtract(1, ordering: .relaxed)
            return .success([IPAddress(.v4, 1)])
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<200 {
                group.addTask {
                    _ = try await resolver.addresses(of: Array("host\(number).example".utf8))
                }
            }
            for _ in 0..<200 { gate.open() }
            try await group.waitForAll()
        }
        #expect(made.load(ordering: .relaxed) == 200)
        #expect((1...3).contains(most.load(ordering: .relaxed)))
    }

    @Test("a cancelled task stops waiting at once, before and during the lookup")
    func cancelled() async throws {
        let gate = Gate()
        let (entered, note) = AsyncStream.makeStream(of: Void.self)
        let resolver = SystemResolver(slots: 1, lateSeconds: 600) { _, _ in
            note.yield()
            gate.pass()
            return .success([IPAddress(.v4, 1)])
        }
        let first = Task { await error(resolver, "one.example") }
        _ = await entered.first { _ in true }
        let second = Task { await error(resolver, "two.example") }
        first.cancel()
        second.cancel()
        #expect(await first.value == .cancelled)
        #expect(await second.value == .cancelled)
        gate.open()
        let third = Task { try await resolver.addresses(of: Array("three.example".utf8)) }
        gate.open()
        #expect(try await third.value.count == 1)
    }
}
