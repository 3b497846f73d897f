/// What a batch looks like from outside.
struct BatchShape: Sendable, Equatable {
    /// What notes of an input take when nothing else was asked for, bytes.
    static let defaultNoteBytes = 256

    let width: DigestWidth
    /// 0 for a batch without notes.
    let noteBytes: Int
    let isSalted: Bool

    /// The shape of an input's batches.
    init(of input: FeedInput, _ options: PublishOptions) throws(FeedDirectoryError) {
        switch input {
        case .digests(_, let width):
            self.width = width
            noteBytes = options.noteBytes
            // Nobody can salt what was derived elsewhere.
            isSalted = false
        case .secrets:
            width = options.width
            let needed = input.hasNotes ? Self.defaultNoteBytes : 0
            noteBytes = options.noteBytes > 0 ? options.noteBytes : needed
            isSalted = options.isSalted
        }
        try check(options)
    }

    /// The shape of batches of secrets, for a batch that holds none.
    init(_ options: PublishOptions) throws(FeedDirectoryError) {
        width = options.width
        noteBytes = options.noteBytes
        isSalted = options.isSalted
        try check(options)
    }

    private func check(_ options: PublishOptions) throws(FeedDirectoryError) {
        let multiple = FeedLimits.digestMultiple
        guard noteBytes == 0 || noteBytes >= FeedLimits.noteOverheadBytes,
            noteBytes <= FeedLimits.payloadBytes / multiple - width.rawValue,
            options.batchDigests >= multiple, options.minimumDigests >= multiple,
            options.minimumDigests % multiple == 0,
            options.minimumDigests <= capacity(limit: options.batchDigests)
        else { throw .options }
    }

    var rowBytes: Int { width.rawValue + noteBytes }

    /// Digests in one batch: as many as were asked for and as the format lets in.
    func capacity(limit: Int) -> Int {
        let multiple = FeedLimits.digestMultiple
        return min(limit, FeedLimits.payloadBytes / rowBytes) / multiple * multiple
    }

    /// Digests a batch with so many real ones holds.
    func padded(_ count: Int, _ options: PublishOptions) -> Int {
        let multiple = FeedLimits.digestMultiple
        return max((count + multiple - 1) / multiple * multiple, options.minimumDigests)
    }

    /// - Returns: the first item, from 1, whose note does not fit.
    func tooLongNote(in input: FeedInput) -> Int? {
        guard case .secrets(let items) = input, noteBytes > 0 else { return nil }
        let limit = SealedNote.capacity(noteBytes: noteBytes)
        return items.firstIndex { ($0.note?.count ?? 0) > limit }.map { $0 + 1 }
    }
}
