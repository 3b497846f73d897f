private import WakeFeed
package import WakeModel
import WakePush

extension ConfigurationParser {
    /// A key of the file: its setter, and the words about it in messages and reveille.conf(5).
    package struct Key: Sendable {
        /// Named with the section, e.g. `http.listen`.
        package let words: SettingKey
        /// Whether a running service takes another value.
        package let isReloaded: Bool
        /// False when the value is not of the key's form.
        let set: @Sendable (inout Configuration, _ value: String, _ directory: String) -> Bool
        /// The value in force, for comparison; nil: none.
        let text: @Sendable (Configuration) -> String?
        /// Gives the second configuration the value of the first.
        let keep: @Sendable (Configuration, inout Configuration) -> Void
    }

    /// Every key of the file, as reveille.conf(5) lists them. A new setting is an entry here and a
    /// property of `Configuration`.
    package static let all = general + sections

    static let keys = Dictionary(uniqueKeysWithValues: all.map { ($0.words.name, $0) })

    private static let general: [Key] = [
        key(
            "http.listen", "HOST:PORT or unix:PATH", \.listen, { $0.text },
            "The public listener. TLS is that of the front before it.", address),
        switched(
            "http.proxy-protocol", \.proxyProtocol,
            "The front speaks PROXY protocol v2: clients are told apart by their addresses, of "
                + "which a hash is kept in memory alone."),
        key(
            "http.connections", "a whole number from 16 to 1000000", \.connections,
            { $0.map(String.init) },
            "Connections at a time; without the key 20,000, or what `LimitNOFILE=` leaves."
        ) { value, _ in Int(value).flatMap { (16...1_000_000).contains($0) ? .some($0) : nil } },
        integer(
            "http.connections-per-address", \.connectionsPerAddress, 1...1_000_000,
            "Connections of one network (/24, /56), where it shows. A NAT with many clients needs "
                + "more."),
        integer(
            "http.streams", \.streams, 0...1_000_000,
            "Event streams at a time; three quarters of `connections` at most."),
        integer(
            "http.streams-per-address", \.streamsPerAddress, 1...1_000_000,
            "Event streams of one network (/24, /56), where it shows."),
        integer(
            "http.stream-keep-alive-seconds", \.streamKeepAliveSeconds,
            10...Limits.keepAliveSeconds,
            "The longest silence of an event stream: a comment ends it. It must be shorter than "
                + "what fronts and NATs wait; where all clients run on batteries and no front cuts "
                + "them, 240 wakes their radios least."),
        integer(
            "http.drain-seconds", \.drainSeconds, 0...300,
            "Seconds that requests under way have when the service ends."),
        key(
            "http.origins",
            "*, or origins such as https://app.example.org, with commas between several", \.origins,
            { $0?.text },
            "Web pages whose scripts may register, listen and fetch (CORS); without the key none."
        ) { value, _ in WebOrigins(list: value).map { .some($0) } },
        key(
            "admin.listen", localAddress, \.admin, { $0.text },
            "The listener of the commands. On TCP it needs a `token`."
        ) { value, directory in address(value, directory).flatMap { $0.isLocal ? $0 : nil } },
        key(
            "admin.token", "a path", \.adminToken, { $0 },
            "The file of the token that programs have to show: `reveille keygen --kind admin`. "
                + "After a change send SIGHUP: `reveille reload` shows the new token already.",
            isReloaded: true
        ) { absolute($0, $1) },
        key(
            "metrics.listen", localAddress, \.metrics, { $0?.text },
            "A read-only listener with metrics and health, for Prometheus on this machine. On TCP "
                + "every user of the machine can ask; a Unix socket has mode 0660, for the group "
                + "of the service."
        ) { value, directory in address(value, directory).flatMap { $0.isLocal ? .some($0) : nil }
        },
        path("store.data", \.data, "The directory of the store, mode 0700."),
        Key(
            words: SettingKey(
                "store.keys", "a path, or memory", usual: "keys/registration.key",
                "The file of the keys of the store; `memory`: in no file, so that every start "
                    + "begins with an empty store."), isReloaded: false,
            set: { configuration, value, directory in
                configuration.keysInMemory = value == "memory"
                configuration.keys = absolute(value, directory)
                return true
            }, text: { $0.keysInMemory ? "memory" : $0.keys },
            keep: { ($1.keys, $1.keysInMemory) = ($0.keys, $0.keysInMemory) }),
        integer(
            "store.rotation-days", \.rotationDays, RotationSchedule.days,
            "Days between two rotations: what is not renewed expires after one or two of them."),
        integer(
            "store.megabytes", \.storeMegabytes, 1...1_048_576,
            "The limit of the store: about 640 registrations in each. Deleting always works."),
        integer(
            "registration.new-per-prefix", \.newPerPrefix, 1...1_000_000,
            "New registrations of one network in ten minutes that need no proof of work.",
            isReloaded: true),
        integer(
            "registration.new-per-day", \.newPerDay, 0...1_000_000_000,
            "New registrations of all clients in a day that need no proof of work; 0: by what the "
                + "store holds.", isReloaded: true),
        path("feed.directory", \.feed, "The directory of the feed."),
        path(
            "feed.key", \.feedKey, "The file of the key that signs the feed.", isReloaded: true),
        switched("feed.serve", \.feedServed, "Serve the feed below /feed/."),
        key(
            "feed.witnesses", "a path", \.witnesses, { $0 },
            "The file of the policy (C2SP tlog-policy) whose witnesses have to cosign every head "
                + "before it is published; without the key none. It is read at each publish.",
            isReloaded: true
        ) { absolute($0, $1) },
        integer(
            "feed.cache-seconds", \.cacheSeconds, 0...86_400,
            "Seconds for which a cache in front of the feed may keep its head."),
        integer(
            "feed.spread-seconds", \.spreadSeconds, 0...86_400,
            "Seconds over which woken clients spread their fetches.", isReloaded: true),
        integer(
            "feed.poll-seconds", \.pollSeconds, 900...86_400,
            "Seconds between two polls of a client that nothing wakes.", isReloaded: true),
        integer(
            "broadcast.interval-seconds", \.intervalSeconds, BroadcastSchedule.heartbeatSeconds,
            "Seconds in which everyone is woken once, published or not, and in which a broadcast "
                + "must fit.", isReloaded: true),
        switched(
            "broadcast.heartbeat", \.heartbeat,
            "Wake everyone once in an interval; off: only when something was published.",
            isReloaded: true),
        integer(
            "broadcast.fetches-per-second", \.fetchesPerSecond, 0...10_000_000,
            "Fetches a second that the feed's origin may get, which set the pace of pushes; 0: no "
                + "limit.", isReloaded: true),
        integer(
            "broadcast.gone-permille", \.gonePerMille, 0...1000,
            "Of 1,000 push tokens those that a push service may call gone; with more, most stay.",
            isReloaded: true),
        Key(
            words: SettingKey(
                "broadcast.watch", "on, off, or the https:// address of a feed", usual: "off",
                "A new head of the feed starts a broadcast: of the directory, "
                    + "or of a feed elsewhere."), isReloaded: true,
            set: { configuration, value, _ in
                let isAddress = value.hasPrefix("https://") || value.hasPrefix("http://")
                guard isAddress || flags[value] != nil else { return false }
                configuration.watch = value != "off"
                configuration.watchedFeed = isAddress ? value : nil
                return true
            }, text: { $0.watch ? $0.watchedFeed ?? "on" : "off" },
            keep: { ($1.watch, $1.watchedFeed) = ($0.watch, $0.watchedFeed) }),
        key(
            "broadcast.watch-key", "a feed's public key, 43 characters of base64url", \.watchKey,
            { $0.isEmpty ? nil : $0 },
            "The public key of the feed that is watched elsewhere.", isReloaded: true
        ) { value, _ in FeedKey(text: value).map { _ in value } },
        key(
            "oblivious.key", "a path", \.obliviousKey, { $0 },
            "The file of the gateway's key, by which clients register through a relay that hides "
                + "their addresses (RFC 9458): `reveille keygen --kind ohttp`.", isReloaded: true
        ) { absolute($0, $1) },
        key(
            "oblivious.former-key", "a path", \.obliviousFormerKey, { $0 },
            "The key before, which is valid as long as this names it.", isReloaded: true
        ) { absolute($0, $1) },
        key(
            "oblivious.upstream", ServiceAddress.expected, \.obliviousUpstream, { $0?.text },
            "The front of several shards, which gets what was inside encapsulated requests and "
                + "finds the shard of each; without the key they are answered here.",
            isReloaded: true
        ) { value, directory in ServiceAddress(value, directory).map { .some($0) } },
        key(
            "cluster.listen", "HOST:PORT or unix:PATH", \.cluster, { $0?.text },
            "The listener for deletions that other shards hand on, in a network of your own."
        ) { value, directory in address(value, directory).map { .some($0) } },
        key(
            "cluster.peers", "\(ServiceAddress.expected), with commas between several", \.peers,
            { $0.isEmpty ? nil : $0.map(\.text).joined(separator: ", ") },
            "The `[cluster] listen` of all shards, also of those that are drained; this one's own "
                + "may be among them. A deletion is answered 204 when all have done it, else 503.",
            isReloaded: true
        ) { ServiceAddress.list($0, $1) },
        words(
            "page.operator", "a name", \.pageOperator,
            "Who runs the service, as the page for people names it."),
        words(
            "page.contact", "an address of mail, an https address, or any words", \.pageContact,
            "Where questions and complaints go, on the page for people."),
        key(
            "log.level", "error, info or debug", \.logLevel, { $0.rawValue },
            "The events that are logged, with those before.", isReloaded: true
        ) { value, _ in LogLevel(rawValue: value) },
    ]

    /// Checked as a whole at the end of the file: most of these need the others of their section.
    private static let sections: [Key] = {
        var keys: [Key] = []
        let gateways = GatewaySection.all.map { ($0.name, $0.words) }
        for (section, words) in gateways + [("relay", RelaySettings.words)] {
            for word in words
            where !keys.contains(where: { $0.words.name == "\(section).\(word.name)" }) {
                keys.append(key(word, of: section))
            }
        }
        return keys
    }()

    private static func key(_ word: SettingKey, of section: String) -> Key {
        Key(
            words: SettingKey(
                "\(section).\(word.name)", word.takes, usual: word.usual, word.meaning),
            isReloaded: section != "relay",
            set: { configuration, value, directory in
                configuration.sections[section, default: [:]][word.name] =
                    paths.contains(word.name) ? absolute(value, directory) : value
                return true
            }, text: { $0.sections[section]?[word.name] },
            keep: {
                $1.sections[section] = $0.sections[section]
                $1.relay = $0.relay
            })
    }

    static let paths: Set<String> = ["key", "ca", "via-key", "installations"]

    private static let localAddress = "unix:PATH, or a PORT on 127.0.0.1, [::1] or localhost"

    private typealias Setting<Value> = any WritableKeyPath<Configuration, Value> & Sendable

    /// - Parameters:
    ///   - text: the value as the file has it.
    ///   - parse: gets the value and the directory; nil when it is not of the key's form.
    private static func key<Value>(
        _ name: String, _ expected: String, _ setting: Setting<Value>,
        _ text: @escaping @Sendable (Value) -> String?, _ meaning: String,
        isReloaded: Bool = false, _ parse: @escaping @Sendable (String, String) -> Value?
    ) -> Key {
        // Paths stand after "./" in a configuration of the working directory.
        let usual = text(Configuration(directory: ".")[keyPath: setting])
        return Key(
            words: SettingKey(name, expected, usual: usual?.replacing("./", with: ""), meaning),
            isReloaded: isReloaded,
            set: { configuration, text, directory in
                guard let value = parse(text, directory) else { return false }
                configuration[keyPath: setting] = value
                return true
            }, text: { text($0[keyPath: setting]) },
            keep: { $1[keyPath: setting] = $0[keyPath: setting] })
    }

    private static let flags = ["on": true, "off": false]

    private static func switched(
        _ name: String, _ setting: Setting<Bool>, _ meaning: String, isReloaded: Bool = false
    ) -> Key {
        key(name, "on or off", setting, { $0 ? "on" : "off" }, meaning, isReloaded: isReloaded) {
            value, _ in flags[value]
        }
    }

    private static func integer(
        _ name: String, _ setting: Setting<Int>, _ bounds: ClosedRange<Int>, _ meaning: String,
        isReloaded: Bool = false
    ) -> Key {
        let expected = "a whole number from \(bounds.lowerBound) to \(bounds.upperBound)"
        return key(
            name, expected, setting, { String($0) }, meaning, isReloaded: isReloaded
        ) { value, _ in Int(value).flatMap { bounds.contains($0) ? $0 : nil } }
    }

    private static func words(
        _ name: String, _ expected: String, _ setting: Setting<String>, _ meaning: String
    ) -> Key {
        key(
            name, expected, setting, { $0.isEmpty ? nil : $0 }, meaning, isReloaded: true
        ) { value, _ in value }
    }

    private static func path(
        _ name: String, _ setting: Setting<String>, _ meaning: String, isReloaded: Bool = false
    ) -> Key { key(name, "a path", setting, { $0 }, meaning, isReloaded: isReloaded, absolute) }

    @Sendable private static func absolute(_ path: String, _ directory: String) -> String {
        path.hasPrefix("/") ? path : directory + "/" + path
    }

    /// `unix:PATH`, `HOST:PORT` or `[IPV6]:PORT`.
    @Sendable package static func address(
        _ text: String, _ directory: String
    ) -> Configuration.Address? {
        if text.hasPrefix("unix:") {
            let path = String(text.dropFirst(5))
            return path.isEmpty ? nil : .unix(path: absolute(path, directory))
        }
        guard let colon = text.lastIndex(of: ":"),
            let port = UInt16(text[text.index(after: colon)...])
        else { return nil }
        var host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
        } else if host.contains(":") {
            return nil
        }
        return host.isEmpty ? nil : .tcp(host: String(host), port: port)
    }
}
