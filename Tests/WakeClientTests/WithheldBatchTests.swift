import FoundationEssentials
import ReveilleTesting
import Synchronization
import Testing
import WakeFeed
import WakeFetch

@testable import Reveille

/// A batch that does not come while the feed lives: the cheapest way to keep something from a
/// client.
@Suite("A batch that is withheld while heads are signed anew", .timeLimit(.minutes(5)))
struct WithheldBatchTests {
    enum Fault: CaseIterable {
        case missing, corrupt, cut, stalled, page

        func answer(_ bytes: [UInt8]) -> SimulatedNetwork.Answer {
            switch self {
            case .missing: return .init(status: 404)
            case .corrupt:
                var bytes = bytes
                bytes[5000] ^= 1
                return .init(body: bytes)
            case .cut: return .init(body: bytes, cutAfter: 3000)
            case .stalled: return .init(isLost: true)
            case .page: return .init(body: Array("<html>".utf8), contentType: .html)
            }
        }
    }

    private static let secret = Array("only this device knows this".utf8)
    private static let day: Int64 = 86_400

    /// A client that has checked batch 1 of a feed with two more: both are for it.
    private func world() throws -> World {
        let world = try World()
        world.secrets.add("visit", Self.secret)
        try world.feed.publishCover()
        try world.time.run { try await world.client().synchronize() }
        for note in ["withheld", "later"] { try world.feed.publish([Self.secret], note: note) }
        return world
    }

    private func withhold(_ sequences: Set<UInt64>, _ fault: Fault, in world: World) {
        world.feed.tamper { path, bytes in
            FeedHead.sequence(ofBatchName: String(path.dropFirst(2))).flatMap {
                sequences.contains($0) ? fault.answer(bytes) : nil
            }
        }
    }

    private func notes(_ world: World) -> [String] {
        world.handler.matches.map { $0.note ?? "" }
    }

    @Test(
        "for ten days: later ones are checked, it is warned of, and found when it returns",
        arguments: Fault.allCases, [false, true])
    func tenDays(_ fault: Fault, byTimer: Bool) throws {
        let world = try world()
        let start = world.time.wall
        withhold([2], fault, in: world)
        try world.time.run {
            if byTimer {
                for look in 1...60 {
                    if look % 6 == 0 { try world.feed.resign(FeedSettings(pollSeconds: 3600)) }
                    await world.time.sleep(.seconds(4 * 3600))
                    // A process each time.
                    _ = try? await world.client().synchronize()
                    #expect(notes(world) == ["later"])
                    let isDue = world.time.wall - start >= 2 * Self.day
                    #expect(!world.handler.warnings.isEmpty == isDue, "look \(look)")
                }
            } else {
                let client = try world.client()
                try await world.live(client, for: .zero) {
                    for day in 1...10 {
                        try world.feed.resign(FeedSettings(pollSeconds: 3600))
                        await world.time.sleep(.seconds(Self.day))
                        #expect(notes(world) == ["later"])
                        // Asked for every five minutes at least, when it is due.
                        #expect(!world.handler.warnings.isEmpty || day <= 2, "day \(day)")
                    }
                }
            }
            let warning = Warning.notChecked(first: 2, last: 2, since: Date(seconds: start))
            #expect(world.handler.warnings == [warning, warning])
            #expect(await status(world)?.unchecked == 2...2)
            world.feed.tamper(nil)
            let client = try world.client()
            #expect(try await client.synchronize() == .checked(batches: 1, matches: 1))
            #expect(await client.status.unchecked == nil)
            #expect(await client.status.lastChecked == Date(seconds: world.time.wall))
        }
        #expect(notes(world) == ["later", "withheld"])
    }

    @Test("one that leaves the feed before it came is a gap")
    func gap() throws {
        let world = try world()
        withhold([2], .missing, in: world)
        try world.time.run {
            _ = try? await world.client().synchronize()
            await world.time.sleep(.seconds(15 * Self.day))
            try world.feed.publishCover()
            _ = try await world.client().synchronize()
            #expect(await status(world)?.unchecked == nil)
        }
        #expect(world.handler.warnings.contains(.gap(first: 2, last: 2)))
        #expect(notes(world) == ["later"])
    }

    @Test("batches in a row come back in any order, each in its own time")
    func returning() throws {
        let world = try world()
        for _ in 4...6 { try world.feed.publish([Self.secret], note: "later", again: true) }
        try world.time.run {
            withhold([2, 3, 5], .missing, in: world)
            _ = try? await world.client().synchronize()
            #expect(await status(world)?.sequence == 6)
            for (rest, found) in [([2, 5], 2), ([5], 1), ([], 0)] as [(Set<UInt64>, Int)] {
                withhold(rest, .missing, in: world)
                _ = try? await world.client().synchronize()
                #expect(await status(world)?.unchecked?.count ?? 0 >= found)
            }
            #expect(await status(world)?.unchecked == nil)
        }
        #expect(Set(notes(world)) == ["withheld", "later"])
    }

    @Test(
        "a server that fails for everything is asked four times a cycle, however it fails",
        arguments: [503, 404, 403])
    func patience(status: Int) throws {
        let world = try world()
        for _ in 0..<10 { try world.feed.publishCover() }
        world.feed.tamper { path, _ in path == "head" ? nil : .init(status: status) }
        try world.time.run {
            let before = world.network.traces.count
            let failure = ClientError.httpStatus(status, retryAfter: nil)
            await #expect(throws: status == 404 ? .missingBatch : failure) {
                try await world.client().synchronize()
            }
            #expect(world.network.traces.count == before + 5, "head and four batches")
        }
    }

    @Test("a host that has lost some in a row has the others checked in the end")
    func lost() throws {
        let world = try world()
        for _ in 4...20 { try world.feed.publishCover() }
        withhold([2, 3, 4, 5, 6], .missing, in: world)
        try world.time.run {
            for _ in 0..<60 { _ = try? await world.client().synchronize() }
            #expect(await status(world)?.sequence == 20)
            #expect(await status(world)?.unchecked == 2...6)
        }
    }

    @Test("a device that was off for days warns of nothing while its first check runs or fails")
    func daysOff() throws {
        let world = try world()
        try world.time.run {
            try await world.client().synchronize()
            await world.time.sleep(.seconds(3 * Self.day))
            for _ in 0..<3 { try world.feed.publishCover() }
            // Batches come and verify, one in ten minutes.
            world.feed.tamper { path, bytes in
                path == "head" ? nil : .init(body: bytes, delay: .seconds(600))
            }
            try await world.live(try world.client(), for: .seconds(900))
            #expect(await status(world)?.unchecked != nil)
            #expect(world.handler.warnings == [])
            // It lasts: now it is the feed's fault.
            withhold([4, 5, 6], .missing, in: world)
            try await world.live(try world.client(), for: .seconds(8 * 3600))
            #expect(world.handler.warnings.count == 1)
        }
    }

    @Test("a timer without an origin warns of silence, from its first start on")
    func silentTimer() throws {
        let world = try World()
        world.network.failEverything(with: .network(code: 7))
        try world.time.run {
            for look in 0..<80 {
                _ = try? await world.client().synchronize()
                let days = look / 6
                #expect(world.handler.warnings.count == (days < 2 ? 0 : days < 7 ? 1 : 2))
                await world.time.sleep(.seconds(4 * 3600))
            }
        }
        #expect(world.handler.warnings == [.silence(days: 2), .silence(days: 7)])
    }

    @Test("secrets that cannot be read, or are too short, are warned of once, until they are well")
    func secrets() throws {
        let world = try World()
        let secrets = FailingSecrets()
        try world.feed.publish([Self.secret])
        try world.time.run {
            let client = try WakeClient(
                world.configuration(), secrets: secrets, handler: world.handler,
                environment: world.environment)
            for isFailing in [true, true, false, true] {
                secrets.fail(isFailing)
                try world.feed.publishCover()
                let before = world.headFetches.count
                if isFailing {
                    await #expect(throws: ClientError.secrets) { try await client.synchronize() }
                } else {
                    try await client.synchronize()
                }
                #expect(world.headFetches.count == before + 1)
            }
        }
        #expect(
            world.handler.warnings == [
                .secretsUnreadable, .unusableSecrets(count: 1), .secretsUnreadable,
            ])
        #expect(world.handler.matches.count == 1)
    }
}

/// One secret that is too short and one that is not, which sometimes cannot be read.
private final class FailingSecrets: LocalSecrets {
    private struct Failure: Error {}

    private let isFailing = Mutex(false)

    func fail(_ fails: Bool) { isFailing.withLock { $0 = fails } }

    func generation() -> UInt64 { 1 }

    func lend(to body: (_ id: String, _ secret: Span<UInt8>) -> Void) throws {
        guard !isFailing.withLock({ $0 }) else { throw Failure() }
        body("short", [UInt8](repeating: 1, count: 15).span)
        body("visit", Array("only this device knows this".utf8).span)
    }
}

/// The status that a process of its own finds.
func status(_ world: World) async -> ClientStatus? {
    guard let client = try? world.client() else {
        Issue.record("no client")
        return nil
    }
    return await client.status
}
