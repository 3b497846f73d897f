private import Synchronization
package import WakeModel

extension Store {
    /// The next rows of a generation in the order of their ids: what a broadcast walks. Runs
    /// between two batches and holds nothing open afterwards; the rows are opened by the caller.
    /// Rows that do not open are left out.
    /// - Parameters:
    ///   - id: the last id of the page before; empty for the first page.
    ///   - limit: at most `Limits.pageRows`.
    ///   - end: rows beyond this id are not opened and not in the page; its `last` may be one.
    /// - Returns: nil when the files cannot be read or too much waits.
    package func page(
        of generation: Generation, after id: [UInt8], limit: Int = Limits.pageRows,
        through end: [UInt8]? = nil
    ) async -> StorePage? {
        let page = await withCheckedContinuation { continuation in
            post(
                .page(generation, after: id, limit: limit) { page in
                    continuation.resume(returning: page)
                })
        }
        return page.map { StorePage($0, through: end) }
    }

    /// Registrations of both generations, from the size of the file: five rows a page, as pages
    /// fill when ids come at random.
    package var estimatedRows: Int { counters.pages.load(ordering: .relaxed) * 5 }

    /// Number of the current generation, counted from 1.
    package var generationNumber: UInt64 { counters.generation.load(ordering: .relaxed) }

    /// Forgets registrations whose push tokens are gone, except those that were renewed or deleted
    /// since they were read. What the store cannot do now stays, for the next broadcast to find.
    package func removeIfUnchanged(_ rows: [(row: StoreRow, generation: Generation)]) async {
        // Several transactions, so that operations of people come in between.
        for start in stride(from: 0, to: rows.count, by: Limits.batchOperations) {
            let part = rows[start..<min(start + Limits.batchOperations, rows.count)]
            await withCheckedContinuation { continuation in
                removeIfUnchanged(part) { continuation.resume() }
            }
        }
    }

    private func removeIfUnchanged(
        _ rows: ArraySlice<(row: StoreRow, generation: Generation)>,
        _ done: @escaping @Sendable () -> Void
    ) {
        let left = Countdown(rows.count, done)
        for (row, generation) in rows {
            post(
                .removal(generation, id: row.id, sealed: row.sealed) { _ in left.arrived() })
        }
    }
}

/// Calls back when so many have arrived.
private final class Countdown: Sendable {
    private let left: Atomic<Int>
    private let done: @Sendable () -> Void

    init(_ count: Int, _ done: @escaping @Sendable () -> Void) {
        left = Atomic(count)
        self.done = done
    }

    func arrived() {
        if left.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 { done() }
    }
}

extension StorePage {
    fileprivate init(_ page: RawPage, through end: [UInt8]?) {
        let wanted = page.rows.prefix { row in
            end.map { !$0.lexicographicallyPrecedes(row.id) } ?? true
        }
        rows = wanted.compactMap { row in
            page.keys.open(row.sealed, id: row.id).map {
                StoreRow(id: row.id, sealed: row.sealed, token: $0)
            }
        }
        last = page.rows.last?.id
    }
}
