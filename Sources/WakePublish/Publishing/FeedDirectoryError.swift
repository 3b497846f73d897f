package import WakeFeed
package import WakeSystem

/// A failure to create, read or publish into a feed's directory.
package enum FeedDirectoryError: Error, Equatable, Sendable {
    case file(FileError)
    case locked
    case noFeed
    case exists
    /// The head is invalid, or not signed by this key.
    case head(FeedError)
    /// The file `keys` is invalid, or has not this key.
    case keys(FeedError)
    case batch(UInt64, FeedError)
    case missingBatch(UInt64)
    /// `.journal` is damaged; without it a repeated publish would not be recognised.
    case journal
    case nothingToPublish
    case tooManyBatches(Int)
    case options
    /// A note that is too long; its item's line in the input, from 1.
    case noteTooLong(line: Int, limit: Int)
    /// Another key has followed this one.
    case keySucceeded
    case tooManyKeys
    /// The log of heads.
    case log(FeedLogFault)
    /// Too few witnesses cosigned: the head before stays in force.
    case witnesses(WitnessRefusal)
    case keyFile(SecretFileError)
    case keyFileMalformed
    /// The observer of a publish stopped it.
    case interrupted

    /// The failure and what to do, in English; no file and no item is named.
    package var message: String {
        switch self {
        case .file(let error): "the feed directory could not be used: \(error.reason)"
        case .locked: "another publisher is at work in this directory; try again when it is done"
        case .noFeed: "there is no feed in this directory; make one with feed init"
        case .exists: "there is a feed in this directory already"
        case .head(.badSignature): "the head is not signed with this key; check the key file"
        case .head(.wrongFeed): "the head belongs to another feed; check the key file"
        case .head: "the head is damaged; restore the directory from its static host"
        case .keys(.wrongFeed): "the key is none of the feed's keys; check the key file"
        case .keys: "the file keys is damaged; restore it from the feed's static host"
        case .batch(let sequence, _): "batch \(sequence) is damaged; restore it"
        case .missingBatch(let sequence): "batch \(sequence) is missing; restore it"
        case .journal: "the journal is damaged; remove .journal if nothing needs a retry"
        case .nothingToPublish: "there is nothing to publish in the input"
        case .tooManyBatches(let count):
            "\(count) batches are more than a head can name; use larger batches"
        case .options: "the options contradict each other; see the limits of the format"
        case .noteTooLong(let line, let limit):
            "line \(line): its note is longer than \(limit) bytes"
        case .keySucceeded:
            "another key has followed this one; use that, or repeat feed succeed to its end"
        case .tooManyKeys: "a feed has \(FeedLimits.keys) keys at most; make a new feed"
        case .log(let fault): fault.message
        case .witnesses(let refusal): refusal.message
        case .keyFile(let error):
            error.message(source: "bring it back from your copy; clients believe no other")
        case .keyFileMalformed: "the key file must hold one line of 43 characters of base64url"
        case .interrupted: "stopped before the end; publish again"
        }
    }

    static func of(_ error: FileError) -> FeedDirectoryError {
        error.isLocked ? .locked : .file(error)
    }
}
