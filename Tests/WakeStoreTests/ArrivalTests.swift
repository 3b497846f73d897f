import TestSupport
import Testing
import WakeModel
import WakeStore

@Suite("The order of arrival", .timeLimit(.minutes(5)))
struct ArrivalTests {
    /// SQLite puts a new row before the others of its page (sqlite.org/fileformat2.html §1.6),
    /// until the page is divided or rows in it go.
    @Test("the place in a page tells the later of two in 6 of 10 cases, and no more")
    func places() async throws {
        let place = StorePlace()
        try await place.create()
        let store = try Store(opening: place.configuration)
        var arrivals: [[UInt8]: Int] = [:]
        for number in 0..<4000 {
            let registration = StoreOperation.register(Known.token(number), Known.pushToken(number))
            #expect(await store.ask(registration) == .done)
            let stored = try #require(await store.stored(number))
            arrivals[stored.id] = number
        }
        // Empties the log, and the table of rows that move.
        await store.close()
        let before = try Self.laterFirst(place, arrivals)
        #expect(before < 0.6, "\(before)")
    }

    /// Of all pairs of rows that share a page: the share in which the later one lies first.
    private static func laterFirst(
        _ place: StorePlace, _ arrivals: [[UInt8]: Int]
    ) throws -> Double {
        let bytes = StorePlace.bytes(of: place.file())
        var (pairs, later, rows) = (0, 0, 0)
        for start in stride(from: Limits.pageBytes, to: bytes.count, by: Limits.pageBytes) {
            let page = bytes[start..<start + Limits.pageBytes]
            let numbers = cells(Array(page)).sorted().compactMap { arrivals[Array($0.id)] }
            rows += numbers.count
            for (index, first) in numbers.enumerated() {
                for second in numbers[(index + 1)...] {
                    pairs += 1
                    later += first > second ? 1 : 0
                }
            }
        }
        try #require(rows == arrivals.count)
        return Double(later) / Double(pairs)
    }

    private struct Cell: Comparable {
        let offset: Int
        let id: ArraySlice<UInt8>

        static func < (one: Cell, other: Cell) -> Bool { one.offset < other.offset }
    }

    /// The rows of an index page, a leaf (10) or not (2).
    private static func cells(_ page: [UInt8]) -> [Cell] {
        guard page[0] == 10 || page[0] == 2 else { return [] }
        let (pointers, child) = page[0] == 10 ? (8, 0) : (12, 4)
        return (0..<Int(page[3]) << 8 + Int(page[4])).map { index in
            let pointer = pointers + 2 * index
            let offset = Int(page[pointer]) << 8 + Int(page[pointer + 1])
            // The payload's length, the record's header of 4 bytes, the id.
            let id = offset + child + 2 + 4
            return Cell(offset: offset, id: page[id..<id + Limits.idBytes])
        }
    }
}
