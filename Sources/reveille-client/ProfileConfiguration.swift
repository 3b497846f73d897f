import WakeClient
import WakeCommand
import WakeFiles

/// The file that `init` writes: `key = value` under `[client]`.
extension Profile {
    private static let limit = 16_384

    /// - Throws: `configuration`, with the line's number, for anything unknown or missing.
    func configuration() throws(CommandFailure) -> ClientConfiguration {
        let values = try values()
        guard let feed = values["feed"], let key = values["key"] else {
            throw failure("lacks feed or key")
        }
        return try Self.configuration(
            feed: feed, key: key, service: values["service"], channel: values["channel"],
            proxy: values["proxy"], dailyBytes: values["daily-bytes"],
            cacheMegabytes: values["cache-megabytes"], in: self)
    }

    /// Every line of the file, by its name.
    func values() throws(CommandFailure) -> [String: String] {
        try parse(try text())
    }

    /// The file as it stands there.
    func text() throws(CommandFailure) -> String {
        let bytes: [UInt8]
        let isPrivate: Bool
        do throws(FileError) {
            isPrivate = try FileStatus(of: configurationFile).isPrivate
            bytes = try Files.read(configurationFile, limit: Self.limit)
        } catch {
            if error.isMissing {
                throw CommandFailure(
                    "there is no such profile yet",
                    hint: "reveille-client init --feed URL --key KEY makes one",
                    status: .configuration)
            }
            throw failure("cannot be read: \(error.reason)")
        }
        guard isPrivate else {
            throw failure("is open to others", hint: "chmod 600 client.conf")
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private func parse(_ text: String) throws(CommandFailure) -> [String: String] {
        var values: [String: String] = [:]
        let known = [
            "feed", "key", "service", "channel", "proxy", "daily-bytes", "cache-megabytes",
            "distributor", "vapid",
        ]
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() {
            let line = line.trimmed
            if line.isEmpty || line.hasPrefix("#") || line == "[client]" { continue }
            let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = parts[0].trimmed
            guard parts.count == 2, known.contains(name) else {
                throw failure(
                    "line \(index + 1) is not understood",
                    hint: "known are \(known.joined(separator: ", "))")
            }
            guard values.updateValue(parts[1].trimmed, forKey: name) == nil else {
                throw failure("line \(index + 1) repeats \(name)")
            }
        }
        return values
    }

    /// Builds a configuration from words, whether of a file or a command line.
    static func configuration(
        feed: String, key: String, service: String?, channel: String?, proxy: String?,
        dailyBytes: String? = nil, cacheMegabytes: String? = nil, in profile: Profile
    ) throws(CommandFailure) -> ClientConfiguration {
        let chosen: ClientConfiguration.Channel
        switch channel {
        case "stream": chosen = .stream
        case "poll": chosen = .poll
        case nil: chosen = service == nil ? .poll : .stream
        default: throw CommandFailure("the channel is stream or poll", status: .usage)
        }
        var configuration = ClientConfiguration(
            feed: feed, feedKey: key, service: service, channel: chosen,
            stateDirectory: profile.stateDirectory, cacheDirectory: profile.cacheDirectory,
            proxy: try proxy.map { text throws(CommandFailure) in try Self.proxy(text) })
        if let dailyBytes {
            configuration.dailyByteBudget = try number(dailyBytes, of: "a day's bytes")
        }
        if let cacheMegabytes {
            // 2^40 bytes: more than all batches that a head can name.
            let megabytes = min(try number(cacheMegabytes, of: "the cache's size"), 1 << 20)
            configuration.cacheCapacity = megabytes << 20
        }
        do {
            try configuration.check()
        } catch {
            throw CommandFailure(error)
        }
        return configuration
    }

    private static func number(
        _ text: String, of what: String
    ) throws(CommandFailure) -> Int {
        guard let number = Int(text), number >= 0 else {
            throw CommandFailure("\(what) is a number", status: .usage)
        }
        return number
    }

    private static func proxy(_ text: String) throws(CommandFailure) -> ClientConfiguration.Proxy {
        guard let colon = text.lastIndex(of: ":"),
            let port = UInt16(text[text.index(after: colon)...])
        else { throw CommandFailure("a proxy is given as HOST:PORT", status: .usage) }
        return .init(host: String(text[..<colon]), port: port)
    }

    /// Writes the file; one that is there is not touched.
    func write(
        feed: String, key: String, service: String?, channel: String?, proxy: String?,
        dailyBytes: String? = nil, cacheMegabytes: String? = nil, vapid: String? = nil
    ) throws(CommandFailure) {
        var text = "[client]\nfeed = \(feed)\nkey = \(key)\n"
        let values = [
            ("service", service), ("channel", channel), ("proxy", proxy),
            ("daily-bytes", dailyBytes), ("cache-megabytes", cacheMegabytes),
            ("vapid", vapid),
        ]
        for (name, value) in values {
            if let value { text += "\(name) = \(value)\n" }
        }
        do throws(FileError) {
            if !Files.exists(stateDirectory) { try Files.makeDirectory(stateDirectory) }
            try Files.create(configurationFile, with: Array(text.utf8).span)
        } catch {
            if error.exists {
                throw CommandFailure(
                    "this profile exists already",
                    hint: "reveille-client forget removes it, --profile NAME makes another",
                    status: .configuration)
            }
            throw CommandFailure(
                "the profile cannot be written: \(error.reason)", status: .ioError)
        }
    }

    func failure(_ problem: String, hint: String? = nil) -> CommandFailure {
        CommandFailure("client.conf \(problem)", hint: hint, status: .configuration)
    }
}

extension StringProtocol {
    /// Without spaces and tabs at its ends.
    var trimmed: String {
        var text = self[...]
        while let last = text.last, last == " " || last == "\t" || last == "\r" {
            text = text.dropLast()
        }
        return String(text.drop { $0 == " " || $0 == "\t" })
    }
}
