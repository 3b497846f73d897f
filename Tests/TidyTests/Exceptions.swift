/// What the rules of structure let pass, each with its reason.
enum Exceptions {
    /// Files under 40 lines.
    static let smallFiles: [String: String] = [
        "Sources/ReveilleHandlers/MatchHandling.swift": "a module with other compiler rules",
        "Sources/WakeFeed/Format/FeedLimits.swift": "one table, which FEED.md repeats",
        "Sources/WakeBytes/MapError.swift": "one function in two forms, for all modules",
        "Sources/WakeCrypto/SecretBox.swift": "one primitive a file",
        "Sources/WakeFeed/Format/SealedNote.swift": "one form of the format, as its neighbours",
        "Sources/WakePublish/Publishing/FeedKeyFile.swift": "one file's format",
        "Sources/WakePush/APNs/APNsGateway.swift": "the same file names in every gateway's folder",
        "Sources/WakeSystem/Threads/Semaphore.swift": "a name that readers look for",
        "Sources/WakeSystem/Threads/SystemThread.swift": "a name that readers look for",
        "Sources/reveille-client/Main.swift": "the entry point",
        "Sources/reveille-service/Commands/KeygenCommand.swift": "one command a file",
        "Sources/reveille-service/Commands/PolicyCommand.swift": "one command a file",
        "Sources/reveille-service/Commands/StatusCommand.swift": "one command a file",
        "Sources/reveille-service/Main.swift": "the entry point",
    ]

    /// Types whose stored properties other files may set.
    static let writtenFromOutside: [String: String] = [
        "Batch": "the writer's transaction in hand; a value that never leaves its thread",
        "BatchReport": "counts of one transaction; a value that never leaves the writer's thread",
        "BroadcastHistory": "the schedule's state as it is written to disk; no other has one",
        "BroadcastReport": "a value that a run fills and passes on",
        "BusMessage": "a value that the reader fills field by field",
        "Configuration": "filled by the parser, immutable afterwards",
        "Entry": "a wake-up as a value: the session that holds it counts its attempts",
        "FeedCursor": "a value: the verifier returns a changed copy",
        "FeedRecord": "a row as a value: copies are changed, and saved as a whole",
        "Field": "a header field as a value: the encoder replaces the authorization",
        "PublishOptions": "options as a value: copies are changed",
        "RequestTemplate": "a value: the connection replaces the authorization in its copy",
        "RunCounters": "a value that a run fills and passes on",
    ]
}
