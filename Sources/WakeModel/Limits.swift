/// Every bound of the service, with its reason; a test compares it with `Policy/PROTOCOL.md`.
package enum Limits {
    // MARK: Tokens

    /// Longest push token or endpoint, bytes: what the sealed plaintext has beside 4 of header.
    package static let pushTokenBytes = plaintextBytes - 4
    /// Longest endpoint that is registered with its keys, bytes: those take 82. The longest known
    /// are Edge's: of its tokens of 245, 261 and 277 random bytes, in base64 that is
    /// percent-encoded, 99.9 % make endpoints of up to 420, 440 and 470.
    package static let keyedEndpointBytes = pushTokenBytes - SubscriptionKeys.suffixBytes
    /// APNs tokens, bytes: 32 today; Apple says "variable length".
    package static let apnsTokenBytes = 32...100

    // MARK: HTTP

    /// Request body, bytes: clients pad to 1 KiB; four times that is room for white space.
    package static let requestBodyBytes = 4096
    /// Nesting in a JSON body: ours is 1 deep.
    package static let jsonDepth = 4
    /// Request head, bytes.
    package static let requestHeadBytes = 16_384
    /// Fields in a request head.
    package static let requestFields = 64
    /// Request target, bytes (RFC 9112 §3 recommends at least 8000).
    package static let requestTargetBytes = 8192
    /// Seconds from a head's first byte to its last.
    package static let headSeconds = 10
    /// Seconds from a head's end to the body's.
    package static let bodySeconds = 10
    /// Seconds a connection may be idle between requests.
    package static let idleSeconds = 20
    /// Body of every `GET /v1/registration` answer, bytes: 632 sealed bytes as hexadecimal and a
    /// 588-byte token with every character escaped.
    package static let registrationAnswerBytes = 4096
    /// What clients pad a `PUT` body to, bytes.
    package static let paddedBodyBytes = 1024
    /// What clients pad a binary request (RFC 9292) to before they encapsulate it, bytes: a padded
    /// `PUT` with the longest host name and its token fits.
    package static let obliviousRequestBytes = 2048
    /// An encapsulated answer, bytes: that to a `GET` with its fields.
    package static let obliviousAnswerBytes = 4608

    // MARK: Wakes

    /// Seconds between keep-alive comments on an event stream at most, whatever the operator sets:
    /// under the 300 s of common NATs.
    package static let keepAliveSeconds = 240
    /// Milliseconds a stream client waits before it reconnects.
    package static let streamRetryMilliseconds = 30_000

    // MARK: Storage

    /// Plaintext of the sealed column, bytes: version, service, 2-byte length, token, zeros. With
    /// 10 more a page would have five rows instead of six.
    package static let plaintextBytes = 592
    /// Sealed column, bytes: 24-byte nonce, plaintext, 16-byte tag.
    package static let sealedBytes = 24 + plaintextBytes + 16
    /// The id column, bytes.
    package static let idBytes = 32
    /// Operations committed in one transaction at most.
    package static let batchOperations = 512
    /// Operations waiting for the writer at most; more are answered 503.
    package static let queuedOperations = 8192
    /// Microseconds between the moments at which answers about registrations leave.
    package static let answerTickMicroseconds = 1000
    /// Writes in one transaction up to which its answers wait for that moment: with more, what one
    /// of them found is lost among the others, and waiting would cost a loaded service a tenth.
    package static let griddedWrites = 32
    /// Milliseconds after which the write-ahead log is emptied: what a renewal replaced is gone
    /// within a second.
    package static let logMilliseconds = 500
    /// Pages in the write-ahead log before it is copied into the database, for which everybody
    /// waits: four times as many give a tenth more registrations a second, and twice the 99th
    /// percentile of their waits.
    package static let logPages = 1000
    /// Pages beyond the operator's cap that only deletes may take.
    package static let headroomPages = 1024
    /// Pages one insert can add at most: a split at every level of the tree, and a new root.
    package static let pagesPerInsert = 8
    /// Bytes of a database page, as `Policy/privacy.json` has them, too.
    package static let pageBytes = 4096
    /// Rows in a page, which is full to five sixths in the mean; 9 bytes of a row say where it is.
    package static var rowsPerPage: Int { pageBytes / (idBytes + sealedBytes + 9) * 5 / 6 }
    /// Bytes kept allocated for deletes on a full disk: half for a log copied into new pages, half
    /// for the log of a batch of deletes.
    package static let reserveBytes = 8000 * pageBytes
    /// Rows in one page of a broadcast at most: some milliseconds between two commits.
    package static let pageRows = 10_000
    /// Rows written to the current file whose earlier ones are deleted from the previous file
    /// together: some milliseconds between two commits.
    package static let movedRows = 1024
    /// Rows up to which a generation is counted; a larger one is estimated to 2 per cent.
    package static let surveyRows = 4096

    // MARK: Broadcasts

    /// Rows that a run reads at once: a millisecond of decryption, without a write in between.
    package static let scanRows = 512
    /// Wake-ups of a run in flight, beyond what keeps its gateways busy: 1 KiB of memory each.
    package static let wakeUpsInFlight = 4096
    /// Push tokens of a run remembered at most, 12 to 24 bytes each: 1 GiB for 44 million and more.
    package static let deduplicatedTokens = 64_000_000

    // MARK: Relay

    /// Installations that may be allowed.
    package static let installations = 10_000
    /// Requests to the relay at once, of up to 1,000 wake-ups of 1 KiB of memory each.
    package static let relayRequests = 32
    /// Requests of one installation at once.
    package static let relayRequestsEach = 4
    /// Large bodies to the relay that are received or read at once: 640 KiB each, twice.
    package static let relayLargeBodies = 16
    /// Forwarded wake-ups in flight, also those of clients that are gone: 128 bytes each.
    package static let relayWakeUps = 64_000
    /// Seconds until the rest of a request to the relay is left for another.
    package static let relaySeconds = 300
    /// Nonces of an installation that are remembered; with more in a minute the oldest are stale.
    package static let relayNonces = 16_384
}
