import WakeModel

/// Which hosts wake-ups may be sent to. Compared with the parsed host of an endpoint, never with
/// the endpoint: `https://ntfy.sh.example.org/` is not at ntfy.sh.
package struct PushHostRules: Sendable, Equatable {
    /// Any host with a proper name; its addresses are still checked when sending.
    package private(set) var isAny = false
    /// Whether the known push services are among the hosts.
    package private(set) var isKnown = false
    /// Hosts named beside them.
    package private(set) var named = 0

    /// In lower case.
    private var names: Set<[UInt8]> = []
    /// `.example.org` for every name below example.org.
    private var suffixes: Set<[UInt8]> = []

    /// The known push services.
    package static let known = PushHostRules(list: "known") ?? PushHostRules()

    private init() {}

    /// `known`, `any`, and host names, `*.` before them for all names below; commas or spaces
    /// between.
    /// - Returns: nil when one of them is no host name, or there are none.
    package init?(list: String) {
        let words = list.split { $0 == "," || $0 == " " || $0 == "\t" }
        guard !words.isEmpty else { return nil }
        for word in words {
            switch word {
            case "any": isAny = true
            case "known":
                isKnown = true
                for row in KnownPushHosts.rows { add(Array(row.pattern.description.utf8)) }
            default:
                let pattern = word.utf8.map(Self.lower)
                guard Self.isPattern(pattern) else { return nil }
                add(pattern)
                named += 1
            }
        }
    }

    /// - Parameter host: of a ``PushEndpoint``.
    package func admits(_ host: Span<UInt8>) -> Bool {
        if isAny { return true }
        return admits(name: Self.lowered(host))
    }

    /// - Parameter name: in lower case.
    private func admits(name: [UInt8]) -> Bool {
        if names.contains(name) { return true }
        guard !suffixes.isEmpty else { return false }
        return name.indices.contains { index in
            index > 0 && name[index] == UInt8(ascii: ".")
                && suffixes.contains(Array(name[index...]))
        }
    }

    /// The push services of browsers among the known ones.
    static let browsers: PushHostRules = {
        var rules = PushHostRules()
        for row in KnownPushHosts.rows where row.kind == .browser {
            rules.add(Array(row.pattern.description.utf8))
        }
        return rules
    }()

    static func lowered(_ host: Span<UInt8>) -> [UInt8] { host.array.map(lower) }

    private mutating func add(_ pattern: [UInt8]) {
        if pattern.first == UInt8(ascii: "*") {
            suffixes.insert(Array(pattern.dropFirst()))
        } else {
            names.insert(pattern)
        }
    }

    /// A name that a ``PushEndpoint`` may have: others would never be asked for.
    private static func isPattern(_ pattern: [UInt8]) -> Bool {
        let isWild = pattern.starts(with: "*.".utf8)
        let name = isWild ? Array(pattern.dropFirst(2)) : pattern
        let endpoint = Array("https://".utf8) + name + [UInt8(ascii: "/")]
        // Without a port: names only.
        guard !name.contains(UInt8(ascii: ":")), !name.contains(UInt8(ascii: "/")) else {
            return false
        }
        return PushEndpoint(endpoint.span) != nil
    }

    private static func lower(_ byte: UInt8) -> UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
    }
}
