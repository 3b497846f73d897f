import WakeModel
import WakePush
import WakeStore

/// The last stages of a run: registrations whose push tokens are gone pass a deletion breaker for
/// each gateway and are deleted in batches, unless they were renewed since they were read.
struct GoneRegistrations {
    private let store: Store
    private var breakers: [DeletionBreaker<InFlightTable.Entry>]
    private var released: [InFlightTable.Entry] = []

    /// Registrations deleted at once: each such commit is flushed, which other requests feel.
    private static let batch = 256

    /// - Parameter tripped: gateways whose breaker tripped before a restart, a bit each by index.
    init(_ store: Store, gateways: Int, perMille: Int, tripped: UInt64) {
        self.store = store
        breakers = (0..<gateways).map {
            DeletionBreaker(perMille: perMille, isTripped: tripped & 1 << UInt64($0) != 0)
        }
    }

    var tripped: [Int] { breakers.indices.filter { breakers[$0].isTripped } }
    mutating func accepted(gateway: Int) { breakers[gateway].accepted() }

    mutating func gone(_ entry: InFlightTable.Entry) {
        released += breakers[entry.gateway].gone(entry)
    }

    mutating func finish() {
        for index in breakers.indices { released += breakers[index].finish() }
    }

    /// Deletes what is released, when it is a batch or the last, and returns how many.
    mutating func delete(isLast: Bool) async -> Int {
        guard released.count >= (isLast ? 1 : Self.batch) else { return 0 }
        let rows = released.map { (row: $0.row, generation: $0.generation) }
        released = []
        await store.removeIfUnchanged(rows)
        return rows.count
    }
}
