import WakeRelay

extension ConfigurationParser {
    /// A key of the file: its setter, and the values it takes, for messages.
    struct Key: Sendable {
        let expected: String
        /// False when the value is not of the key's form.
        let set: @Sendable (inout Configuration, _ value: String, _ directory: String) -> Bool
    }

    /// Every key of the file. A new setting is a line here and one in `Configuration`.
    static let keys = general.merging(sections) { general, _ in general }

    private static let general: [String: Key] = [
        "http.listen": key("HOST:PORT or unix:PATH", \.listen, address),
        "http.proxy-protocol": switched(\.proxyProtocol),
        "http.connections": key("a whole number from 16 to 1000000", \.connections) { value, _ in
            Int(value).flatMap { (16...1_000_000).contains($0) ? .some($0) : nil }
        },
        "http.connections-per-address": integer(\.connectionsPerAddress, 1...1_000_000),
        "http.streams": integer(\.streams, 0...1_000_000),
        "http.streams-per-address": integer(\.streamsPerAddress, 1...1_000_000),
        "http.drain-seconds": integer(\.drainSeconds, 0...300),
        "admin.listen": key(
            "unix:PATH, or a PORT on 127.0.0.1, [::1] or localhost", \.admin
        ) { value, directory in address(value, directory).flatMap { $0.isLocal ? $0 : nil } },
        "admin.token": key("a path", \.adminToken) { absolute($0, $1) },
        "store.data": path(\.data),
        "store.keys": Key(expected: "a path, or memory") { configuration, value, directory in
            configuration.keysInMemory = value == "memory"
            configuration.keys = absolute(value, directory)
            return true
        },
        "store.rotation-days": integer(\.rotationDays, RotationSchedule.days),
        "store.megabytes": integer(\.storeMegabytes, 1...1_048_576),
        "registration.new-per-prefix": integer(\.newPerPrefix, 1...1_000_000),
        "registration.new-per-day": integer(\.newPerDay, 0...1_000_000_000),
        "feed.directory": path(\.feed),
        "feed.key": path(\.feedKey),
        "feed.serve": switched(\.feedServed),
        "feed.cache-seconds": integer(\.cacheSeconds, 0...86_400),
        "feed.spread-seconds": integer(\.spreadSeconds, 0...86_400),
        "feed.poll-seconds": integer(\.pollSeconds, 900...86_400),
        "broadcast.interval-seconds": integer(
            \.intervalSeconds, BroadcastSchedule.heartbeatSeconds),
        "broadcast.heartbeat": switched(\.heartbeat),
        "broadcast.fetches-per-second": integer(\.fetchesPerSecond, 0...10_000_000),
        "broadcast.gone-permille": integer(\.gonePerMille, 0...1000),
        "broadcast.watch": Key(expected: "on, off, or the https:// address of a feed") {
            configuration, value, _ in
            let isAddress = value.hasPrefix("https://") || value.hasPrefix("http://")
            guard isAddress || flags[value] != nil else { return false }
            configuration.watch = value != "off"
            configuration.watchedFeed = isAddress ? value : nil
            return true
        },
        "broadcast.watch-key": key("a feed's public key", \.watchKey) { value, _ in value },
        "log.level": key("error, info or debug", \.logLevel) { value, _ in
            LogLevel(rawValue: value)
        },
    ]

    /// Checked as a whole at the end of the file: most of these need the others of their section.
    private static let sections: [String: Key] = {
        var keys: [String: Key] = [:]
        let gateways = GatewaySection.all.map { ($0.name, $0.words) }
        for (section, words) in gateways + [("relay", RelaySettings.words)] {
            for word in words where keys["\(section).\(word.key)"] == nil {
                let isPath = paths.contains(word.key)
                keys["\(section).\(word.key)"] = Key(expected: word.takes) {
                    configuration, value, directory in
                    configuration.sections[section, default: [:]][word.key] =
                        isPath ? absolute(value, directory) : value
                    return true
                }
            }
        }
        return keys
    }()

    private static let paths: Set<String> = ["key", "ca", "via-key", "installations"]

    private typealias Setting<Value> = any WritableKeyPath<Configuration, Value> & Sendable

    /// - Parameter parse: gets the value and the directory; nil when it is not of the key's form.
    private static func key<Value>(
        _ expected: String, _ setting: Setting<Value>,
        _ parse: @escaping @Sendable (String, String) -> Value?
    ) -> Key {
        Key(expected: expected) { configuration, text, directory in
            guard let value = parse(text, directory) else { return false }
            configuration[keyPath: setting] = value
            return true
        }
    }

    private static let flags = ["on": true, "off": false]

    private static func switched(_ setting: Setting<Bool>) -> Key {
        key("on or off", setting) { value, _ in flags[value] }
    }

    private static func integer(_ setting: Setting<Int>, _ bounds: ClosedRange<Int>) -> Key {
        let expected = "a whole number from \(bounds.lowerBound) to \(bounds.upperBound)"
        return key(expected, setting) { value, _ in
            Int(value).flatMap { bounds.contains($0) ? $0 : nil }
        }
    }

    private static func path(_ setting: Setting<String>) -> Key { key("a path", setting, absolute) }

    @Sendable private static func absolute(_ path: String, _ directory: String) -> String {
        path.hasPrefix("/") ? path : directory + "/" + path
    }

    /// `unix:PATH`, `HOST:PORT` or `[IPV6]:PORT`.
    @Sendable private static func address(
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
