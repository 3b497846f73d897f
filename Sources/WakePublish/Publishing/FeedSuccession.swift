import WakeFeed
private import WakeModel
private import WakeSystem

/// A change of a feed's key: the new key in a file, the file `keys`, the head signed by the new
/// key, and the new key's file in the old one's place. Killed at any step, the feed verifies for
/// clients with the old key, and repeating the change completes it.
package struct FeedSuccession: Sendable {
    package enum Outcome: Sendable, Equatable {
        case succeeded
        /// The newest key has signed no batch yet: this is the same change once more.
        case wasDone
    }

    private let directory: String
    private let keyFile: String
    private let given: String?
    private let random: RandomSource
    private let witnesses: WitnessCollector?
    private let observer: FeedPublisher.Observer

    /// - Parameter newKeyFile: where the new key is, or goes, and stays; nil: it takes the place of
    ///   the old one.
    package init(
        directory: String, keyFile: String, newKeyFile: String? = nil,
        random: RandomSource = .system, witnesses: WitnessCollector? = nil,
        observer: @escaping FeedPublisher.Observer = { _ in }
    ) {
        self.directory = directory
        self.keyFile = keyFile
        given = newKeyFile
        self.random = random
        self.witnesses = witnesses
        self.observer = observer
    }

    private var newKeyFile: String { given ?? keyFile + ".next" }

    /// Makes the change; times are seconds since 1970.
    package func run(now: Int64) throws(FeedDirectoryError) -> Outcome {
        let old = try FeedKeyFile.load(keyFile)
        guard try !isDone(FeedKey(old.verifyingKey)) else { return .wasDone }
        let new =
            Files.exists(newKeyFile)
            ? try FeedKeyFile.load(newKeyFile)
            : try FeedKeyFile.create(newKeyFile, random: random.bytes)
        try observer(.keyMade)
        try FeedPublisher(
            directory: directory, key: new, witnesses: witnesses, observer: observer
        )
        .succeed(old, now: now)
        if given == nil {
            try mapError(FeedDirectoryError.of) { () throws(FileError) in
                try Files.rename(newKeyFile, to: keyFile)
            }
        }
        try observer(.keyReplaced)
        return .succeeded
    }

    /// A second change before any batch: the end of one that was repeated.
    private func isDone(_ key: FeedKey) throws(FeedDirectoryError) -> Bool {
        let feed = FeedDirectory(directory)
        let chain = try feed.keys(key)
        guard chain.newest == key, chain.keys.count > 1 else { return false }
        return try chain.newestFrom == feed.head(key).sequence + 1
    }
}
