package import WakeModel
package import WakePush
import WakeSystem

/// The section `[relay]` of a service that forwards wake-ups of self-hosted installations.
package struct RelaySettings: Sendable, Equatable {
    /// Host, and port unless it is 443, in lower case: installations sign for it (RFC 9421 §2.2.3).
    package let authority: String
    package let installations: String
    /// Wake-ups of one installation that are forwarded in a minute.
    package let wakesPerMinute: Int

    /// The default path of the file of installations, beside the other keys.
    package static let defaultInstallations = "keys/installations"
    package static let defaultWakesPerMinute = 60_000
    private static let rates = 1...10_000_000

    package init(
        authority: String, installations: String, wakesPerMinute: Int = defaultWakesPerMinute
    ) {
        self.authority = authority
        self.installations = installations
        self.wakesPerMinute = wakesPerMinute
    }

    /// The keys of the section; paths are relative to the file's directory.
    package static let words = [
        SettingKey(
            "authority", "the host name of this service, with its port unless that is 443",
            "This service as installations address it; they sign for it."),
        SettingKey(
            "installations", "the path of the file of `reveille relay allow`",
            usual: defaultInstallations, "The installations that are allowed."),
        SettingKey(
            "wakes-per-minute", "a whole number from 1 to 10000000",
            usual: "\(defaultWakesPerMinute)",
            "Wake-ups of each installation that are passed on in a minute."),
    ]

    /// Parses the section (paths absolute) of a file in `directory`; nil without any key.
    /// - Throws: the first key that is missing or has no proper value.
    package init?(section: [String: String], directory: String) throws(GatewaySectionFault) {
        if section.isEmpty { return nil }
        guard let authority = section["authority"] else { throw .missing("authority") }
        guard let authority = Self.normalized(authority) else { throw .badValue("authority") }
        let rate = section["wakes-per-minute"].map { Int($0) ?? 0 } ?? Self.defaultWakesPerMinute
        guard Self.rates.contains(rate) else { throw .badValue("wakes-per-minute") }
        self.init(
            authority: authority,
            installations: section["installations"]
                ?? directory + "/" + Self.defaultInstallations,
            wakesPerMinute: rate)
    }

    /// Whether the value of a Host field names this service.
    func matches(host: ArraySlice<UInt8>) -> Bool {
        Self.normalized(String(decoding: host, as: UTF8.self)) == authority
    }

    /// A host and optional port in the signed form (RFC 9421 §2.2.3); nil for anything else.
    private static func normalized(_ text: String) -> String? {
        var text = text.lowercased()
        if text.hasSuffix(":443") { text.removeLast(4) }
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        let isHost = parts[0].utf8.allSatisfy {
            (0x61...0x7A).contains($0) || $0.isDigit || "-.".utf8.contains($0)
        }
        guard (1...253).contains(parts[0].utf8.count), isHost, parts.count <= 2 else { return nil }
        guard parts.count == 2 else { return text }
        guard let port = UInt16(parts[1]), port > 0, String(port) == parts[1] else { return nil }
        return text
    }
}
