package import WakePush

/// The section `[relay]`: whether this service passes on wake-ups of self-hosted installations, and
/// as whom it is addressed.
package struct RelaySettings: Sendable, Equatable {
    /// Host, and port unless it is 443, in lower case: what installations sign (RFC 9421 §2.2.3).
    package let authority: String
    /// The file of installations.
    package let installations: String
    /// Wake-ups that one installation may have passed on in a minute.
    package let wakesPerMinute: Int

    /// Where the file of installations is unless the section says otherwise, beside the other keys.
    package static let defaultInstallations = "keys/installations"
    private static let rates = 1...10_000_000

    package init(authority: String, installations: String, wakesPerMinute: Int = 60_000) {
        self.authority = authority
        self.installations = installations
        self.wakesPerMinute = wakesPerMinute
    }

    /// The keys of the section, with what they take; paths are relative to the file's directory.
    package static let words: [(key: String, takes: String)] = [
        ("authority", "the host name of this service, with its port unless that is 443"),
        ("installations", "the path of the file of `reveille relay allow`"),
        ("wakes-per-minute", "a whole number from 1 to 10000000"),
    ]

    /// From the section's keys and values, paths made absolute already; no keys: nil.
    /// - Parameter directory: of the configuration file.
    /// - Throws: the first key that is missing or has no proper value.
    package init?(
        section: [String: String], directory: String
    ) throws(GatewaySectionFault) {
        if section.isEmpty { return nil }
        guard let authority = section["authority"] else { throw .missing("authority") }
        guard let authority = Self.normalized(authority) else { throw .badValue("authority") }
        var rate = 60_000
        if let text = section["wakes-per-minute"] {
            guard let number = Int(text), Self.rates.contains(number) else {
                throw .badValue("wakes-per-minute")
            }
            rate = number
        }
        self.init(
            authority: authority,
            installations: section["installations"]
                ?? directory + "/" + Self.defaultInstallations,
            wakesPerMinute: rate)
    }

    /// Whether a request says that it means this service.
    func isNamed(by host: ArraySlice<UInt8>) -> Bool {
        Self.normalized(String(decoding: host, as: UTF8.self)) == authority
    }

    /// A host and perhaps a port as RFC 9421 §2.2.3 has them signed; nil for anything else, above
    /// all for a whole URL.
    private static func normalized(_ text: String) -> String? {
        var text = text.lowercased()
        if text.hasSuffix(":443") { text.removeLast(4) }
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        let isHost = parts[0].utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), 0x30...0x39: true
            default: byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".")
            }
        }
        guard !parts[0].isEmpty, parts[0].utf8.count <= 253, isHost, parts.count <= 2 else {
            return nil
        }
        if parts.count == 2 {
            guard let port = UInt16(parts[1]), port > 0, String(port) == parts[1] else {
                return nil
            }
        }
        return text
    }
}
