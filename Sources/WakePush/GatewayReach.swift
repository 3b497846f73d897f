/// What the sections of all gateways that use the engine have in common: how the push service is
/// reached.
package struct GatewayReach: Sendable, Equatable {
    // For tests, and for a proxy that adds TLS: nil for the push service's own.
    package var host: String?
    package var port: UInt16?
    /// Authorities to trust instead of the system's.
    package var authorityFile: String?
    /// Whether the far end speaks HTTP/2 without TLS.
    package var isPlain = false
    package var connections = 1

    package init() {}

    /// The keys of a section that are about this, with what they take.
    package static let words: [(key: String, takes: String)] = [
        ("host", "a host name"),
        ("port", "a number from 1 to 65535"),
        ("ca", "the path of a PEM file"),
        ("plain", "on or off"),
        ("connections", "a whole number from 1 to 64"),
    ]

    /// From the section's keys and values, paths made absolute already.
    init(section: [String: String]) throws(GatewaySectionFault) {
        if let text = section["host"] {
            guard Self.isHost(text) else { throw .badValue("host") }
            host = text
        }
        authorityFile = section["ca"]
        if let text = section["port"] {
            guard let port = UInt16(text), port > 0 else { throw .badValue("port") }
            self.port = port
        }
        if let text = section["connections"] {
            guard let count = Int(text), (1...64).contains(count) else {
                throw .badValue("connections")
            }
            connections = count
        }
        switch section["plain"] {
        case nil, "off": isPlain = false
        case "on": isPlain = true
        default: throw .badValue("plain")
        }
        // Credentials in clear text over a network would be anyone's for an hour.
        if isPlain, !["127.0.0.1", "::1", "localhost"].contains(host) {
            throw .plainToElsewhere
        }
    }

    /// A name or a numeric address, without a scheme or a port.
    private static func isHost(_ text: String) -> Bool {
        let colons = text.utf8.count { $0 == UInt8(ascii: ":") }
        // RFC 4291 §2.2: an address of version 6 has two colons at least.
        return colons != 1
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"): true
                case UInt8(ascii: "A")...UInt8(ascii: "Z"): true
                case UInt8(ascii: "0")...UInt8(ascii: "9"): true
                case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"): true
                default: byte == UInt8(ascii: ":")
                }
            }
    }

    /// Reads the authorities to trust; a file that holds none is said now and not by a round.
    package func checkAuthorities() throws(PushEngineError) {
        // Not only for the gateway itself: access tokens come from elsewhere.
        guard !isPlain || authorityFile != nil else { return }
        _ = try TLSContext(authorityFile: authorityFile)
    }
}

/// A mistake in the section of a gateway. The keys are of its list of words.
package enum GatewaySectionFault: Error, Equatable, Sendable {
    case missing(String)
    case badValue(String)
    /// `plain = on` with a host other than this machine.
    case plainToElsewhere
    /// A key that makes no sense beside `via`.
    case notWithVia(String)

    /// The key that stands there and should not, or not so; nil for one that is missing.
    package var key: String? {
        switch self {
        case .missing: nil
        case .badValue(let key), .notWithVia(let key): key
        case .plainToElsewhere: "plain"
        }
    }

    /// Two lines: what is wrong, and what to do.
    /// - Parameters:
    ///   - section: its name.
    ///   - words: its keys, with what they take.
    package func message(
        section: String, words: [(key: String, takes: String)]
    ) -> String {
        func takes(_ key: String) -> String {
            words.first { $0.key == key }?.takes ?? "a value"
        }
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
