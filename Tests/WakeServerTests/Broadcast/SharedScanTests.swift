import TestSupport
import Testing
import WakeModel
import WakeStore
import WakeSystem

@testable import WakeServer

/// The scan over a real store that changes meanwhile.
@Suite("The scan of a broadcast", .timeLimit(.minutes(5)))
struct SharedScanTests {
    private static let rows = 300
    private let place = StorePlace()

    private func register(_ store: Store) async throws {
        for number in 0..<Self.rows {
            let bytes = Blake2b.hash(Array("\(number)".utf8).span)
            let instance = try #require(InstanceToken(bytes))
            let token = try PushToken(service: .apns, bytes: bytes)
            store.submit(.register(instance, token)) { _ in }
        }
        _ = await store.page(of: .current, after: [], limit: 1)
    }

    private func rotatedStore() async throws -> Store {
        var configuration = StoreConfiguration(dataDirectory: place.data, keyFile: place.keys)
        configuration.reserveBytes = 1 << 20
        try Store.create(configuration)
        let store = try Store(opening: configuration)
        try await register(store)
        _ = await store.rotate()
        return store
    }

    /// A reader with a place of its own.
    private struct Reader {
        let scan: SharedScan
        var service = PushService.apns
        var place: UInt64 = 0
        var readUntil: UInt64 = 0
        var seen: Set<[UInt8]> = []
        /// When each page was read, by its first place.
        var ended: [UInt64: UInt64] = [:]

        var isDone: Bool { place == ScanOrder.end }

        mutating func read() async throws {
            let page = try #require(
                await scan.page(at: place, after: readUntil, for: service))
            #expect(page.places.contains(place))
            ended[place] = page.ended
            for row in page.rows { seen.insert(row.token.bytes.copy()) }
            place = page.places.upperBound
            if page.generation == .previous { readUntil = page.ended }
        }
    }

    @Test(
        "a row that is renewed at any time is found by every reader, however few rows a page has",
        arguments: [1, 6, 10] as [UInt8], [0, 3])
    func renewals(blockBits: UInt8, pagesAhead: Int) async throws {
        let store = try await rotatedStore()
        for lag in [0, 3, 1000] {
            let scan = SharedScan(
                store, ScanOrder(seed: UInt64(blockBits), blockBits: blockBits),
                size: .init(rows: 40, limit: 8, pagesAhead: pagesAhead))
            var (first, second) = (Reader(scan: scan), Reader(scan: scan, service: .fcm))
            var (steps, isRenewed) = (0, lag == 0)
            while !first.isDone || !second.isDone {
                if !first.isDone { try await first.read() }
                if steps >= lag || first.isDone, !second.isDone { try await second.read() }
                steps += 1
                // Everybody moves when the first reader has some of the previous generation, or,
                // for a second one that lags by far, when the first has come to current.
                let isTime =
                    lag == 1000 ? first.isDone && !second.seen.isEmpty : first.seen.count > 50
                if isTime, !isRenewed {
                    isRenewed = true
                    try await register(store)
                }
            }
            #expect(first.seen.count == Self.rows && second.seen.count == Self.rows, "\(lag)")
        }
        await store.close()
    }

    @Test("readers in step share their pages, one that lags by far reads them again")
    func shared() async throws {
        let store = try await rotatedStore()
        let scan = SharedScan(
            store, ScanOrder(seed: 3, blockBits: 8), size: .init(rows: 10, limit: 20, pagesAhead: 1)
        )
        let first = try #require(await scan.page(at: 0, after: 0, for: .apns))
        let last = first.places.upperBound - 1
        let same = try #require(await scan.page(at: last, after: 0, for: .apns))
        #expect(same.ended == first.ended && same.places.upperBound == first.places.upperBound)
        #expect(same.places.count == 1 && same.rows.count <= first.rows.count)
        var reader = Reader(scan: scan)
        while !reader.isDone { try await reader.read() }
        let again = try #require(await scan.page(at: 0, after: 0, for: .apns))
        #expect(again.ended > first.ended)
        // Single places, as after a kill.
        let order = scan.order
        let places = first.rows.map { order.place(of: $0.identity.idPrefix, in: .previous) }
        let rows = try #require(await scan.page(at: places.map { $0..<$0 + 1 }[...]))
        #expect(
            rows.rows.map(\.id).sorted { $0.lexicographicallyPrecedes($1) }
                == first.rows.map(\.id).sorted { $0.lexicographicallyPrecedes($1) })
        await store.close()
    }

    @Test("what was read ahead for a reader is kept for it, however far ahead another one is")
    func kept() async throws {
        let store = try await rotatedStore()
        let scan = SharedScan(
            store, ScanOrder(seed: 3, blockBits: 8), size: .init(rows: 10, limit: 20, pagesAhead: 3)
        )
        var slow = Reader(scan: scan, service: .fcm)
        try await slow.read()
        var fast = Reader(scan: scan)
        while !fast.isDone { try await fast.read() }
        for _ in 0..<3 { try await slow.read() }
        #expect(slow.ended.count == 4)
        #expect(slow.ended.allSatisfy { fast.ended[$0.key] == $0.value })
        await store.close()
    }
}
