package import WakeModel
import WakeSystem

/// The address of a push service that the engine connects to.
package struct GatewayEndpoint: Sendable, Hashable {
    /// A name, for DNS, TLS and `:authority`.
    package var host: String
    package var port: UInt16 = 443
    /// Authorities to trust instead of the system's, PEM; nil outside of tests.
    package var authorityFile: String?
    /// HTTP/2 without TLS: behind a proxy on this machine that adds it, and in tests.
    package var isPlain = false

    package init(host: String) { self.host = host }

    /// `host`, port 443 and TLS, unless the options say otherwise.
    package init(host: String, _ options: EndpointOptions) {
        self.host = options.host ?? host
        port = options.port ?? 443
        authorityFile = options.authorityFile
        isPlain = options.isPlain
    }

    /// RFC 9113 §8.3.1
    package var scheme: String { isPlain ? "http" : "https" }

    /// `:authority` (RFC 9113 §8.3.1), without the default port.
    package var authority: String {
        let name = host.contains(":") ? "[\(host)]" : host
        return port == (isPlain ? 80 : 443) ? name : "\(name):\(port)"
    }

    package func engine(_ template: RequestTemplate, connections: Int = 1) -> EngineConfiguration {
        var configuration = EngineConfiguration(
            host: host, port: port,
            transport: isPlain ? .plain : .tls(authorityFile: authorityFile), template: template)
        configuration.connections = connections
        return configuration
    }
}

/// The options of an endpoint, in the sections of all gateways that use the engine.
package struct EndpointOptions: Sendable, Equatable {
    // For tests, and for a proxy that adds TLS; nil: those of the push service.
    package var host: String?
    package var port: UInt16?
    package var authorityFile: String?
    /// HTTP/2 without TLS.
    package var isPlain = false
    package var connections = 1

    package init() {}

    /// The keys of these options.
    /// - Parameter connections: their number where the key is missing.
    package static func words(connections: Int = 1) -> [SettingKey] {
        [
            SettingKey(
                "host", "a host name",
                "Connect to this host, such as a test's; else to the push "
                    + "service's own."),
            SettingKey(
                "port", "a number from 1 to 65535", usual: "443", "The port of `host`."),
            SettingKey(
                "ca", "the path of a PEM file", "The authorities to trust instead of the system's."
            ),
            SettingKey(
                "plain", "on or off", usual: "off",
                "HTTP/2 without TLS, to a `host` on this machine alone, where a proxy adds it."),
            SettingKey(
                "connections", "a whole number from 1 to 64", usual: "\(connections)",
                "Connections to the push service."),
        ]
    }

    /// - Parameter section: keys and values, paths made absolute already.
    init(section: [String: String]) throws(GatewaySectionFault) {
        let values = SectionValues(section)
        host = try values.value("host") { Self.isHost($0) ? $0 : nil }
        authorityFile = section["ca"]
        port = try values.number("port", in: 1...65_535).map(UInt16.init)
        connections = try values.number("connections", in: 1...64) ?? connections
        isPlain = try values.choice("plain", ["off": false, "on": true]) ?? false
        // Credentials never cross a network in clear text.
        if isPlain, !["127.0.0.1", "::1", "localhost"].contains(host) { throw .plainToElsewhere }
    }

    /// A name or a numeric address, without a scheme or a port.
    private static func isHost(_ text: String) -> Bool {
        let colons = text.utf8.count { $0 == UInt8(ascii: ":") }
        // RFC 4291 §2.2: an address of version 6 has two colons at least.
        return colons != 1
            && text.utf8.allSatisfy { $0.isAlphanumeric || "-._:".utf8.contains($0) }
    }

    /// Reads the authorities to trust: faults show at the start, not in a round.
    package func checkAuthorities() throws(PushEngineError) {
        // Also when `plain`: access tokens come from elsewhere.
        guard !isPlain || authorityFile != nil else { return }
        _ = try TLSContext(authorityFile: authorityFile)
    }
}

/// The values of a section, read by key.
struct SectionValues {
    private let section: [String: String]

    init(_ section: [String: String]) { self.section = section }

    func required(_ key: String) throws(GatewaySectionFault) -> String {
        guard let value = section[key], !value.isEmpty else { throw .missing(key) }
        return value
    }

    func number(_ key: String, in range: ClosedRange<Int>) throws(GatewaySectionFault) -> Int? {
        try value(key) { Int($0).flatMap { range.contains($0) ? $0 : nil } }
    }

    /// One of a few values; nil without the key.
    func choice<Value>(
        _ key: String, _ values: [String: Value]
    ) throws(GatewaySectionFault) -> Value? { try value(key) { values[$0] } }

    /// The parsed value; nil without the key.
    func value<Value>(
        _ key: String, _ parse: (String) -> Value?
    ) throws(GatewaySectionFault) -> Value? {
        guard let text = section[key] else { return nil }
        guard let value = parse(text) else { throw .badValue(key) }
        return value
    }
}

/// A mistake in the section of a gateway, by key.
package enum GatewaySectionFault: Error, Equatable, Sendable {
    case missing(String)
    case badValue(String)
    /// `plain = on` with another host than this machine.
    case plainToElsewhere
    /// A key that makes no sense beside `via`.
    case notWithVia(String)

    /// The key with the mistake; nil for one that is missing.
    package var key: String? {
        switch self {
        case .missing: nil
        case .badValue(let key), .notWithVia(let key): key
        case .plainToElsewhere: "plain"
        }
    }

    /// Two lines: what is wrong, and what to do. `words`: the section's keys and their values.
    package func message(section: String, words: [SettingKey]) -> String {
        func takes(_ key: String) -> String { words.first { $0.name == key }?.takes ?? "a value" }
        return switch self {
        case .missing(let key):
            "[\(section)] lacks \(key)\nhint: set \(key) to \(takes(key)), or remove the section"
        case .badValue(let key):
            "[\(section)] \(key) has no proper value\nhint: set \(key) to \(takes(key))"
        case .plainToElsewhere:
            "[\(section)] plain = on needs a host on this machine\n"
                + "hint: set host to 127.0.0.1, where a proxy adds TLS, or remove plain"
        case .notWithVia(let key):
            "[\(section)] has both via and \(key)\n"
                + "hint: remove \(key) to go through the relay, or via to push directly"
        }
    }
}
