import WakeCommand
import WakeFeed
import WakeFetch
import WakeModel
import WakePublish
import WakeServer
import WakeSystem

/// The keys of the service's gateway beside the head that names them, so that clients fetch both
/// from one place, and everybody the same.
enum GatewayKeyFile {
    /// The name in the feed's directory.
    private static let name = "/ohttp-keys"

    /// Puts the configured keys into the feed's directory; without any, nothing changes.
    static func publish(of feed: FeedSelection) throws(CommandFailure) {
        guard let configuration = feed.configuration else { return }
        let keys = try mapError({ CommandFailure($0.message, status: .configuration) }) {
            () throws(SetupError) in try configuration.obliviousKeys()
        }
        if let keys { try write(keys.configurations, to: feed.directory) }
    }

    /// Reads what `--gateway-keys` names.
    /// - Returns: the hashes for the head, and the file beside it.
    static func read(
        _ value: String, _ invocation: Invocation
    ) throws(CommandFailure) -> (GatewayKeyHashes, [UInt8]) {
        if value == "off" { return (GatewayKeyHashes(), []) }
        let bytes = try Console().contents(of: value, limit: KeyConfiguration.longestList)
        guard let list = KeyConfiguration.list(bytes), !list.isEmpty,
            let hashes = GatewayKeyHashes(list.map(\.hash))
        else {
            throw CommandFailure(
                "\(value) holds no keys of a gateway that clients know, or more than two",
                hint: "fetch them from the service: /.well-known/ohttp-gateway", status: .badData)
        }
        return (hashes, bytes)
    }

    /// Before the head is signed: what it names is there. Former keys are in the new list, too.
    static func write(_ bytes: [UInt8], to directory: String) throws(CommandFailure) {
        let path = directory + name
        try mapError({ CommandFailure(path, $0) }) { () throws(FileError) in
            if bytes.isEmpty { return try Files.remove(path) }
            if let present = try? Files.read(path, limit: KeyConfiguration.longestList),
                present == bytes
            {
                return
            }
            try Files.replace(path, with: bytes.span, mode: 0o644)
        }
    }
}

extension ObliviousKeyRing {
    /// As the head names the keys.
    var hashes: [[UInt8]] { keys.map(\.configuration.hash) }
}

extension GatewayKeyHashes {
    /// Hexadecimal.
    var texts: [String] {
        hashes.map { hash in String(decoding: Hex.encode(hash.span), as: UTF8.self) }
    }
}

extension CheckTable {
    /// The gateway, and whether the head names its keys.
    mutating func addOblivious(_ configuration: Configuration) {
        let (line, problem) = configuration.obliviousSummary
        var warning: String?
        if problem == nil, let keys = (try? configuration.obliviousKeys()) ?? nil,
            let key = try? FeedKeyFile.load(configuration.feedKey),
            let head = try? FeedDirectory(configuration.feed).head(FeedKey(key.verifyingKey)),
            head.settings.gatewayKeys.hashes != keys.hashes
        {
            warning =
                "the feed's head names other keys, so clients use them not: "
                + "`reveille feed refresh`"
        }
        row("oblivious", line, warning: warning)
    }
}
