extension ConfigurationParser {
    /// One key of the file: how its value is set, and what it takes, for messages.
    struct Key: Sendable {
        let expected: String
        /// False when the value is not of the key's form.
        let set: @Sendable (inout Configuration, _ value: String, _ directory: String) -> Bool
    }

    /// Every key of the file. A new setting is one line here and one in `Configuration`.
    static let keys = general.merging(gateways) { general, _ in general }
        .merging(relay) { general, _ in general }

    private static let general: [String: Key] = [
        "http.listen": address(\.listen),
        "http.proxy-protocol": switched(\.proxyProtocol),
        "http.connections": integer(\.connections, 16...1_000_000),
        "http.connections-per-address": integer(\.connectionsPerAddress, 1...1_000_000),
        "http.streams": integer(\.streams, 0...1_000_000),
        "http.streams-per-address": integer(\.streamsPerAddress, 1...1_000_000),
        "http.drain-seconds": integer(\.drainSeconds, 0...300),
        "admin.listen": Key(expected: "unix:PATH, or a PORT on 127.0.0.1, [::1] or localhost") {
            configuration, value, directory in
            guard let address = parseAddress(value, directory), address.isLocal else {
                return false
            }
            configuration.admin = address
            return true
        },
        "store.data": path(\.data),
        "store.keys": Key(expected: "a path, or memory") { configuration, value, directory in
            configuration.keysInMemory = value == "memory"
            configuration.keys = absolute(value, directory)
            return true
        },
        "store.rotation-days": integer(\.rotationDays, RotationSchedule.days),
        "store.megabytes": integer(\.storeMegabytes, 1...1_048_576),
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
        "broadcast.brake-permille": integer(\.brakePerMille, 0...1000),
        "broadcast.watch": Key(expected: "on, off, or the https:// address of a feed") {
            configuration, value, _ in
            let isAddress = value.hasPrefix("https://") || value.hasPrefix("http://")
            guard value == "on" || value == "off" || isAddress else { return false }
            configuration.watch = value != "off"
            configuration.watchedFeed = isAddress ? value : nil
            return true
        },
        "broadcast.watch-key": Key(expected: "a feed's public key") { configuration, value, _ in
            configuration.watchKey = value
            return true
        },
        "log.level": Key(expected: "error, info or debug") { configuration, value, _ in
            guard let level = LogLevel(rawValue: value) else { return false }
            configuration.logLevel = level
            return true
        },
    ]

    /// Checked as a whole at the end of the file: most of these need the others of their section.
    private static let gateways: [String: Key] = Dictionary(
        GatewaySection.all.flatMap { section in
            section.words.map { word in
                let isPath = section.paths.contains(word.key)
                let key = Key(expected: word.takes) { configuration, value, directory in
                    configuration.gatewaySections[section.name, default: [:]][word.key] =
                        isPath ? absolute(value, directory) : value
                    return true
                }
                return ("\(section.name).\(word.key)", key)
            }
        }, uniquingKeysWith: { first, _ in first })

    private static let relay: [String: Key] = Dictionary(
        uniqueKeysWithValues: RelaySettings.words.map { word in
            let key = Key(expected: word.takes) { configuration, value, directory in
                configuration.relaySection[word.key] =
                    word.key == "installations" ? absolute(value, directory) : value
                return true
            }
            return ("relay." + word.key, key)
        })

    private typealias Place<Value> = any WritableKeyPath<Configuration, Value> & Sendable

    private static func switched(_ place: Place<Bool>) -> Key {
        Key(expected: "on or off") { configuration, value, _ in
            guard value == "on" || value == "off" else { return false }
            configuration[keyPath: place] = value == "on"
            return true
        }
    }

    private static func integer(_ place: Place<Int>, _ bounds: ClosedRange<Int>) -> Key {
        let expected = "a whole number from \(bounds.lowerBound) to \(bounds.upperBound)"
        return Key(expected: expected) { configuration, value, _ in
            guard let number = Int(value), bounds.contains(number) else { return false }
            configuration[keyPath: place] = number
            return true
        }
    }

    private static func path(_ place: Place<String>) -> Key {
        Key(expected: "a path") { configuration, value, directory in
            configuration[keyPath: place] = absolute(value, directory)
            return true
        }
    }

    private static func address(_ place: Place<Configuration.Address>) -> Key {
        Key(expected: "HOST:PORT or unix:PATH") { configuration, value, directory in
            guard let address = parseAddress(value, directory) else { return false }
            configuration[keyPath: place] = address
            return true
        }
    }

    private static func absolute(_ path: String, _ directory: String) -> String {
        path.hasPrefix("/") ? path : directory + "/" + path
    }

    /// `unix:PATH`, `HOST:PORT` or `[IPV6]:PORT`.
    private static func parseAddress(
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
