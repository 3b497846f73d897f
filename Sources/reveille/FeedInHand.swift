import WakeCommand
import WakeFeed
import WakeServer
import WakeSodium

/// The feed a command works on: its directory, its key, and the configuration it came from.
struct FeedInHand {
    let directory: String
    let keyFile: String
    /// nil when directory and key were both named by hand.
    let configuration: Configuration?

    init(_ invocation: Invocation) throws(CommandFailure) {
        let directory = invocation.value(FeedCommands.directory.name).map(AbsolutePath.of)
        let keyFile = invocation.value(FeedCommands.keyFile.name).map(AbsolutePath.of)
        if let directory, let keyFile {
            self.directory = directory
            self.keyFile = keyFile
            configuration =
                invocation.value(ConfigurationFile.option.name) == nil
                ? nil : try ConfigurationFile.load(invocation)
        } else {
            let configuration = try ConfigurationFile.load(invocation)
            self.directory = directory ?? configuration.feed
            self.keyFile = keyFile ?? configuration.feedKey
            self.configuration = configuration
        }
    }

    func publisher() throws(FeedDirectoryError) -> FeedPublisher {
        FeedPublisher(directory: directory, key: try FeedKeyFile.load(keyFile))
    }

    func publicKey() throws(FeedDirectoryError) -> FeedKey {
        FeedKey(try FeedKeyFile.load(keyFile).verifyingKey)
    }

    /// The configured timing; nil leaves the head's as it is.
    var settings: FeedSettings? {
        guard let configuration else { return nil }
        let present = try? FeedDirectory(directory).head([publicKey()]).settings
        var settings = configuration.feedSettings(over: present ?? FeedSettings())
        // A running service knows how many fetches its broadcasts bring; without one the
        // configuration stands.
        if let answer = try? AdminClient(address: configuration.admin).send("GET", "/v1/status"),
            let spread = try? ServiceNumbers(answer.body)["publish_spread_seconds"]
        {
            settings.spreadSeconds = UInt32(clamping: spread)
        }
        return settings
    }

    /// Words a publisher's failure for the command line.
    static func wrap<Result>(
        _ body: () throws(FeedDirectoryError) -> Result
    ) throws(CommandFailure) -> Result {
        do throws(FeedDirectoryError) {
            return try body()
        } catch {
            throw CommandFailure(error.message, status: status(of: error))
        }
    }

    private static func status(of error: FeedDirectoryError) -> ExitStatus {
        switch error {
        case .head, .batch, .missingBatch, .journal, .nothingToPublish, .noteTooLong: .badData
        case .locked: .transient
        case .keyFileNotPrivate, .keyFileMalformed: .configuration
        default: .failure
        }
    }
}
