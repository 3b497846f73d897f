import Testing
import WakeModel
import WakePush

@testable import WakeServer

/// The table from which reveille.conf(5) and messages are made.
@Suite("The keys of the configuration")
struct ConfigurationKeyTests {
    private func parse(_ text: String) throws -> Configuration {
        try ConfigurationParser.parse(text, directory: "/base")
    }

    /// What a section needs besides, so that one key of it can be tried.
    private static let least = [
        "apns": "key = k\nkey-id = ABC123DEFG\nteam-id = TEAM123456\ntopic = t\n",
        "fcm": "key = k\ntopic = t\n", "webpush": "key = k\n", "relay": "authority = a.example\n",
    ]

    private func section(_ name: String, _ key: String, _ value: String?) throws -> Configuration {
        var lines = Self.least[name] ?? ""
        if key.hasPrefix("via") { lines = "via = https://relay.example\nvia-key = k\n" }
        if lines.hasPrefix("\(key) = ") { lines = "" }
        return try parse("[\(name)]\n\(lines)\(value.map { "\(key) = \($0)\n" } ?? "")")
    }

    @Test(
        "the default that the manual names is what a file without the key means",
        arguments: ConfigurationParser.all.filter { $0.words.usual != nil }.map(\.words.name))
    func usual(_ name: String) throws {
        let key = try #require(ConfigurationParser.keys[name])
        let words = name.split(separator: ".").map(String.init)
        var set = try section(words[0], words[1], key.words.usual)
        var unset = try section(words[0], words[1], nil)
        // Without a port that of https is used.
        if words[1] == "port" {
            unset.apns?.options.port = 443
            unset.fcm?.options.port = 443
        }
        set.sections = [:]
        unset.sections = [:]
        #expect(set == unset)
    }

    @Test("every key has words about it, and a form that its own default has")
    func words() {
        for key in ConfigurationParser.all {
            #expect(
                key.words.meaning.hasSuffix(".") && !key.words.meaning.contains("\n"),
                "\(key.words.name)")
            #expect(
                !key.words.takes.isEmpty && !key.words.takes.hasSuffix("."), "\(key.words.name)")
        }
        #expect(ConfigurationParser.all.count == ConfigurationParser.keys.count)
        #expect(ConfigurationParser.all.count > 60)
    }

    @Test("the file that init writes is right also where the # before a line is taken away")
    func template() throws {
        var section = ""
        var tried = 0
        let template = Configuration.template(hasVAPIDKey: false)
        for line in template.split(separator: "\n").dropFirst() {
            let text = line.hasPrefix("# ") ? line.dropFirst(2) : line[...]
            if text.hasPrefix("[") {
                section = String(text.dropFirst().prefix { $0 != "]" })
                continue
            }
            let parts = text.split(separator: "=", maxSplits: 1)
            guard parts.count == 2 else { continue }
            let name = parts[0].trimming(" ")
            let value = parts[1].firstRange(of: " # ").map { parts[1][..<$0.lowerBound] }
            let key = ConfigurationParser.keys["\(section).\(name)"]
            var configuration = Configuration(directory: "/base")
            let words = (value ?? parts[1]).trimming(" ")
            #expect(key?.set(&configuration, words, "/base") == true, "[\(section)] \(line)")
            tried += 1
        }
        #expect(tried > 40, "\(tried)")
    }
}

extension Substring {
    fileprivate func trimming(_ character: Character) -> String {
        var text = drop { $0 == character }
        while text.last == character { text.removeLast() }
        return String(text)
    }
}
