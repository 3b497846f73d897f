package import WakeModel

/// The section `[apns]` of the configuration: absent, there is no such gateway.
package struct APNsConfiguration: Sendable, Equatable {
    /// The `.p8` file.
    package var key: String
    package var keyID: String
    package var teamID: String
    package var topic: String

    // For tests, and for a proxy that adds TLS: nil for Apple's own.
    package var host: String?
    package var port: UInt16?
    /// Authorities to trust instead of the system's.
    package var authorityFile: String?
    /// Whether the far end speaks HTTP/2 without TLS.
    package var isPlain = false
    package var connections = 1

    package init(key: String, keyID: String, teamID: String, topic: String) {
        self.key = key
        self.keyID = keyID
        self.teamID = teamID
        self.topic = topic
    }

    /// The keys of the section, with what they take; paths are relative to the file's directory.
    package static let words: [(key: String, takes: String)] = [
        ("key", "the path of the .p8 file"),
        ("key-id", "ten capital letters and digits"),
        ("team-id", "ten capital letters and digits"),
        ("topic", "the app's bundle identifier"),
        ("host", "a host name"),
        ("port", "a port"),
        ("ca", "the path of a PEM file"),
        ("plain", "on or off"),
        ("connections", "a whole number from 1 to 64"),
    ]

    /// From the section's keys and values, paths made absolute already; no keys: nil.
    /// - Throws: the first key that is missing or has no proper value.
    package init?(section: [String: String]) throws(APNsConfigurationError) {
        if section.isEmpty { return nil }
        func required(_ key: String) throws(APNsConfigurationError) -> String {
            guard let value = section[key], !value.isEmpty else { throw .missing(key) }
            return value
        }
        self.init(
            key: try required("key"), keyID: try required("key-id"),
            teamID: try required("team-id"), topic: try required("topic"))
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
        // Provider tokens in clear text over a network would be anyone's for an hour.
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
        guard !isPlain else { return }
        _ = try TLSContext(authorityFile: authorityFile)
    }

    /// Reads the key file.
    package func credentials() throws(APNsCredentialError) -> APNsCredentials {
        try APNsCredentials(teamID: teamID, keyID: keyID, topic: topic, keyFile: key)
    }

    /// nil for push tokens that are not of APNs.
    package func endpoint(_ service: PushService) -> APNsEndpoint? {
        guard var endpoint = APNsEndpoint(service) else { return nil }
        if let host { endpoint.host = host }
        if let port { endpoint.port = port }
        endpoint.authorityFile = authorityFile
        endpoint.isPlain = isPlain
        return endpoint
    }
}

/// A mistake in the section `[apns]`.
package enum APNsConfigurationError: Error, Equatable, Sendable {
    /// The key's name is one of ``APNsConfiguration/words``.
    case missing(String)
    case badValue(String)
    /// `plain = on` with a host other than this machine.
    case plainToElsewhere

    /// Two lines: what is wrong, and what to do.
    package var message: String {
        switch self {
        case .missing(let key):
            "[apns] lacks \(key)\nhint: set \(key) to \(Self.takes(key)), or remove the section"
        case .badValue(let key):
            "[apns] \(key) has no proper value\nhint: set \(key) to \(Self.takes(key))"
        case .plainToElsewhere:
            "[apns] plain = on needs a host on this machine\n"
                + "hint: set host to 127.0.0.1, where a proxy adds TLS, or remove plain"
        }
    }

    private static func takes(_ key: String) -> String {
        APNsConfiguration.words.first { $0.key == key }?.takes ?? "a value"
    }
}
