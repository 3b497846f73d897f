import TestSupport
import Testing
import WakeModel
import WakeSodium
import WakeStore
import WakeSystem

@testable import WakeServer

/// The scan over a real store that changes meanwhile.
@Suite("The scan of a broadcast", .timeLimit(.minutes(5)))
struct RegistrationScanTests {
    private static let rows = 300
    private let place = StorePlace()

    private func register(_ numbers: Range<Int>, _ store: Store) async throws {
        for number in numbers {
            let bytes = Blake2b.hash(Array("\(number)".utf8).span)
            let instance = try #require(InstanceToken(bytes))
            let token = try PushToken(service: .apns, bytes: bytes)
            store.submit(.register(instance, token)) { _ in }
        }
        _ = await store.page(of: .current, after: [], limit: 1)
    }

    private func scan(
        _ store: Store, blocks: Int, size: RegistrationScan.PageSize
    ) throws -> RegistrationScan {
        var random = SplitMix64(seed: UInt64(blocks))
        let header = Checkpoint.Header(
            run: 1, sequence: 1, reasons: .asked, generation: store.generationNumber)
        let checkpoint = try Checkpoint.create(place.path + "/checkpoint", header)
        let order = ScanOrder(start: 77, blocks: blocks, using: &random)
        let writer = CheckpointWriter(checkpoint, order: order, log: Log(level: .error))
        return RegistrationScan(store, writer, size: size)
    }

    @Test(
        "a row that is renewed at any time is found, however few rows a page has",
        arguments: [1, 64, 1024], [1, 4])
    func renewals(blocks: Int, pagesAhead: Int) async throws {
        var configuration = StoreConfiguration(dataDirectory: place.data, keyFile: place.keys)
        configuration.reserveBytes = 1 << 20
        try Store.create(configuration)
        let store = try Store(opening: configuration)
        try await register(0..<Self.rows, store)
        _ = await store.rotate()
        // A page takes any number of ranges, and is always cut.
        var scan = try scan(
            store, blocks: blocks,
            size: .init(rows: .max, limit: 8, pagesAhead: pagesAhead))
        var (seen, step, renewed) = (Set<[UInt8]>(), 0, false)
        reading: while true {
            switch await scan.next() {
            case .rows(let page, let generation):
                for row in page { seen.insert(row.token.bytes.copy()) }
                scan.finishPage()
                step += 1
                // Everybody, when a page of the previous generation has been read.
                if generation == .previous, !page.isEmpty, !renewed {
                    renewed = true
                    try await register(0..<Self.rows, store)
                }
            case .wait, .end: break reading
            case .failed: throw TestFailure("the store cannot be read")
            }
        }
        #expect(renewed && seen.count == Self.rows, "\(seen.count) after \(step) pages")
        await store.close()
    }
}
