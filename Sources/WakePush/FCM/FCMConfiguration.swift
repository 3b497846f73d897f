/// The section `[fcm]` of the configuration: absent, there is no such gateway.
package struct FCMConfiguration: Sendable, Equatable {
    /// The service account's JSON file.
    package var key: String

    // For tests, and for a proxy that adds TLS: nil for Google's own.
    package var host: String?
    package var port: UInt16?
    /// Authorities to trust instead of the system's, for access tokens as well.
    package var authorityFile: String?
    /// Whether the far end speaks HTTP/2 without TLS.
    package var isPlain = false
    package var connections = 1

    package init(key: String) {
        self.key = key
    }

    /// The keys of the section, with what they take; paths are relative to the file's directory.
    package static let words: [(key: String, takes: String)] = [
        ("key", "the path of the service account's JSON file"),
        ("host", "a host name"),
        ("port", "a port"),
        ("ca", "the path of a PEM file"),
        ("plain", "on or off"),
        ("connections", "a whole number from 1 to 64"),
    ]

    /// From the section's keys and values, paths made absolute already; no keys: nil.
    /// - Throws: the first key that is missing or has no proper value.
    package init?(section: [String: String]) throws(FCMConfigurationError) {
        if section.isEmpty { return nil }
        guard let key = section["key"], !key.isEmpty else { throw .missing("key") }
        self.init(key: key)
        host = section["host"]
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
        // Access tokens in clear text over a network would be anyone's for an hour.
        if isPlain, !["127.0.0.1", "::1", "localhost"].contains(host) {
            throw .plainToElsewhere
        }
    }

    /// Reads the service account's file.
    package func credentials() throws(FCMCredentialError) -> FCMCredentials {
        try FCMCredentials(file: key)
    }

    package var endpoint: FCMEndpoint {
        var endpoint = FCMEndpoint()
        if let host { endpoint.host = host }
        if let port { endpoint.port = port }
        endpoint.authorityFile = authorityFile
        endpoint.isPlain = isPlain
        return endpoint
    }
}

/// A mistake in the section `[fcm]`.
package enum FCMConfigurationError: Error, Equatable, Sendable {
    /// The key's name is one of ``FCMConfiguration/words``.
    case missing(String)
    case badValue(String)
    /// `plain = on` with a host other than this machine.
    case plainToElsewhere

    /// Two lines: what is wrong, and what to do.
    package var message: String {
        switch self {
        case .missing(let key):
            "[fcm] lacks \(key)\nhint: set \(key) to \(Self.takes(key)), or remove the section"
        case .badValue(let key):
            "[fcm] \(key) has no proper value\nhint: set \(key) to \(Self.takes(key))"
        case .plainToElsewhere:
            "[fcm] plain = on needs a host on this machine\n"
                + "hint: set host to 127.0.0.1, where a proxy adds TLS, or remove plain"
        }
    }

    private static func takes(_ key: String) -> String {
        FCMConfiguration.words.first { $0.key == key }?.takes ?? "a value"
    }
}
