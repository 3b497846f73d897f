import Reveille
import WakeCommand
import WakeFeed
import WakeModel
import WakePublish
import WakeSystem

/// The file `client.conf` of a profile: lines of `key = value` under `[client]`.
struct ProfileFile {
    /// The lines that `init` writes, in this order; `feed` and `key` are always there.
    static let keys = [
        "feed", "key", "service", "oblivious", "channel", "proxy", "daily-bytes", "cache-megabytes",
        "vapid", "witnesses",
    ]

    private static let known = keys + ["distributor"]
    private static let limit = 16_384

    let profile: Profile

    private var path: String { profile.configurationFile }

    /// - Throws: `configuration`, with the line's number, for anything unknown or missing.
    func configuration() throws(CommandFailure) -> ClientConfiguration {
        let values = try values()
        guard values["feed"] != nil, values["key"] != nil else {
            throw Self.failure("lacks feed or key")
        }
        do throws(CommandFailure) { return try Self.configuration(values, of: profile) } catch {
            // What is a mistake on the command line of `init` is one of the file here.
            throw error.status == .usage ? Self.failure("is wrong: \(error.message)") : error
        }
    }

    /// Every line of the file, by its name.
    func values() throws(CommandFailure) -> [String: String] {
        var values: [String: String] = [:]
        let text = try text()
        try mapError({ Self.failure($0.message) }) { () throws(SettingsFault) in
            _ = try SettingsFile(text, known: Set(Self.known.map { "client." + $0 })) { entry in
                values[entry.key] = entry.value
                return nil
            }
        }
        return values
    }

    private func text() throws(CommandFailure) -> String {
        let bytes: [UInt8]
        let status: FileStatus
        do throws(FileError) {
            let path = try Files.resolve(path)
            status = try FileStatus(of: path)
            bytes = try Files.read(path, limit: Self.limit)
        } catch {
            guard error.isMissing else { throw Self.failure("cannot be read: \(error.reason)") }
            if Files.exists(profile.stateDirectory),
                (try? Files.resolve(profile.stateDirectory)) == nil
            {
                throw CommandFailure(
                    "the state directory is a symbolic link that leads nowhere",
                    hint: "is the disk there that it leads to?", status: .configuration)
            }
            let names = (try? Profile.names()) ?? []
            let others = names.isEmpty ? "" : "; those there are: \(names.joined(separator: ", "))"
            throw CommandFailure(
                "there is no such profile yet",
                hint: "reveille-client init --feed URL --key KEY makes one\(others)",
                status: .configuration)
        }
        guard status.isOwn else { throw Self.failure("belongs to another user", hint: "chown it") }
        guard status.isPrivate else {
            throw Self.failure("is open to others", hint: "chmod 600 client.conf")
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Builds a configuration from the values of a file or a command line.
    static func configuration(
        _ values: [String: String], of profile: Profile
    ) throws(CommandFailure) -> ClientConfiguration {
        let service = values["service"]
        let channel: ClientConfiguration.Channel
        switch values["channel"] {
        case "stream": channel = .stream
        case "poll": channel = .poll
        case nil: channel = service == nil ? .poll : .stream
        default: throw .usage("the channel is stream or poll")
        }
        var configuration = ClientConfiguration(
            feed: values["feed"] ?? "", feedKey: values["key"] ?? "", service: service,
            channel: channel, stateDirectory: profile.stateDirectory,
            cacheDirectory: profile.cacheDirectory, proxy: try proxy(values["proxy"]))
        configuration.oblivious = values["oblivious"]
        if let bytes = try number(values["daily-bytes"], of: "a day's bytes") {
            configuration.dailyByteBudget = bytes
        }
        if let megabytes = try number(values["cache-megabytes"], of: "the cache's size") {
            // 2^40 bytes: more than all batches that a head can name.
            configuration.cacheCapacity = min(megabytes, 1 << 20) << 20
        }
        if let path = values["witnesses"] {
            let text = try policy(path)
            _ = try checked(policy: text)
            configuration.witnesses = String(decoding: text, as: UTF8.self)
        }
        try mapError(CommandFailure.init) { () throws(ClientError) in try configuration.check() }
        return configuration
    }

    /// The bytes of a file of a policy of witnesses.
    static func policy(_ path: String) throws(CommandFailure) -> [UInt8] {
        try mapError({
            CommandFailure("the witnesses' policy cannot be read", $0, .configuration)
        }) { () throws(FileError) in try Files.readLinked(path, limit: WitnessPolicy.byteLimit) }
    }

    /// - Throws: what the policy lacks, and in which line.
    static func checked(policy text: [UInt8]) throws(CommandFailure) -> WitnessPolicy {
        let policy = try mapError({
            CommandFailure("the witnesses' policy: \($0.message)", status: .configuration)
        }) { () throws(WitnessPolicyError) in try WitnessPolicy(text) }
        guard policy.isSatisfiable else {
            throw CommandFailure(
                "the witnesses' policy: no quorum can be verified: it needs Ed25519 keys",
                status: .configuration)
        }
        return policy
    }

    private static func number(_ text: String?, of what: String) throws(CommandFailure) -> Int? {
        guard let text else { return nil }
        guard let number = Int(text), number >= 0 else { throw .usage("\(what) is a number") }
        return number
    }

    private static func proxy(
        _ text: String?
    ) throws(CommandFailure) -> ClientConfiguration.Proxy? {
        guard let text else { return nil }
        guard let colon = text.lastIndex(of: ":"),
            let port = UInt16(text[text.index(after: colon)...])
        else { throw .usage("a proxy is given as HOST:PORT") }
        return .init(host: String(text[..<colon]), port: port)
    }

    /// Writes the file; one that is there is not touched.
    func create(_ values: [String: String]) throws(CommandFailure) {
        let lines = Self.keys.compactMap { key in values[key].map { "\(key) = \($0)\n" } }
        let text = "[client]\n" + lines.joined()
        do throws(FileError) {
            if !Files.exists(profile.stateDirectory) {
                try Files.makeDirectory(profile.stateDirectory)
            }
            try Files.create(path, with: Array(text.utf8).span)
        } catch {
            guard error.exists else {
                throw CommandFailure(
                    "the profile cannot be written: \(error.reason)", status: .ioError)
            }
            throw CommandFailure(
                "this profile exists already",
                hint: "reveille-client forget removes it, --profile NAME makes another",
                status: .configuration)
        }
    }

    /// Writes a distributor, or removes it. A VAPID key that is there stays unless another is
    /// given; all other lines stay as they are.
    func setDistributor(_ name: String?, vapid: String? = nil) throws(CommandFailure) {
        let old = try text()
        let replaced = ["distributor"] + (vapid == nil ? [] : ["vapid"])
        var lines = old.split(separator: "\n", omittingEmptySubsequences: false).filter { line in
            let name = line.split(separator: "=", maxSplits: 1).first.map(Self.trimmed) ?? ""
            return !replaced.contains(name)
        }.map(String.init)
        while lines.last?.isEmpty == true { lines.removeLast() }
        if let name { lines.append("distributor = \(name)") }
        if let vapid { lines.append("vapid = \(vapid)") }
        let new = lines.joined(separator: "\n") + "\n"
        guard new != old else { return }
        try mapError({ CommandFailure("client.conf cannot be written", $0, .ioError) }) {
            () throws(FileError) in
            try Files.replace(Files.resolve(path), with: Array(new.utf8).span)
        }
    }

    static func failure(_ problem: String, hint: String? = nil) -> CommandFailure {
        CommandFailure("client.conf \(problem)", hint: hint, status: .configuration)
    }

    /// Without spaces, tabs and carriage returns at its ends.
    private static func trimmed(_ text: some StringProtocol) -> String {
        let isBlank = { (character: Character) in character == " " || character == "\t" }
        let end = text.lastIndex { !isBlank($0) && $0 != "\r" }
        guard let end else { return "" }
        return String(text[...end].drop(while: isBlank))
    }
}
