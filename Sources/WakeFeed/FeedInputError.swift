/// What is wrong with the input of a publish. Says where, never what stands there.
package enum FeedInputError: Error, Equatable, Sendable {
    /// Neither hexadecimal nor base64url. Lines count from 1.
    case notText(line: Int)
    /// Other lines are hexadecimal, this one is not.
    case mixed(line: Int)
    /// Bytes this line decodes to, and how many there should be.
    case length(line: Int, bytes: Int, allowed: ClosedRange<Int>)
    /// A raw file that is no multiple of its record.
    case rawLength(bytes: Int, record: Int)
    /// Nothing in it.
    case empty
    /// As many notes as items, or one for all.
    case noteCount(notes: Int, items: Int)
    /// The same secret as an earlier line's, with another note.
    case conflictingNote(line: Int)
    /// Digests are of unknown secrets: nothing can be sealed for them.
    case notesForDigests

    /// What is wrong and what to do, in English.
    package var message: String {
        switch self {
        case .notText(let line): "line \(line): neither hexadecimal nor base64url"
        case .mixed(let line): "line \(line): not hexadecimal, as other lines are"
        case .length(let line, let bytes, let allowed) where allowed.count == 1:
            "line \(line): \(bytes) bytes where \(allowed.lowerBound) are needed"
        case .length(let line, let bytes, let allowed):
            "line \(line): \(bytes) bytes; allowed are "
                + "\(allowed.lowerBound) to \(allowed.upperBound)"
        case .rawLength(let bytes, let record):
            "\(bytes) raw bytes are no multiple of \(record)"
        case .empty: "the input is empty"
        case .noteCount(let notes, let items):
            "\(notes) notes for \(items) items; give one for each line, or one for all"
        case .conflictingNote(let line): "line \(line): the same secret again with another note"
        case .notesForDigests: "notes are sealed with secrets; publish secrets, not digests"
        }
    }
}
