package import WakeModel

extension Store {
    /// The next rows of a generation in the order of their ids: what a broadcast walks. Runs
    /// between two batches and holds nothing open afterwards; the rows are opened by the caller.
    /// Rows that do not open are left out.
    /// - Parameters:
    ///   - id: the last id of the page before; empty for the first page.
    ///   - limit: at most `Limits.pageRows`.
    /// - Returns: nil when the files cannot be read or too much waits.
    package func page(
        of generation: Generation, after id: [UInt8], limit: Int = Limits.pageRows
    ) async -> StorePage? {
        let page = await withCheckedContinuation { continuation in
            post(
                .page(generation, after: id, limit: limit) { page in
                    continuation.resume(returning: page)
                })
        }
        return page.map(StorePage.init)
    }

    /// Forgets a registration whose push token is gone, unless it was renewed since it was read.
    package func removeIfUnchanged(_ row: StoreRow, in generation: Generation) async -> StoreAnswer
    {
        await withCheckedContinuation { continuation in
            post(
                .removal(generation, id: row.id, sealed: row.sealed) { answer in
                    continuation.resume(returning: answer)
                })
        }
    }
}

extension StorePage {
    fileprivate init(_ page: RawPage) {
        rows = page.rows.compactMap { row in
            page.keys.open(row.sealed, id: row.id).map {
                StoreRow(id: row.id, sealed: row.sealed, token: $0)
            }
        }
        last = page.rows.last?.id
    }
}
