/// The section `[fcm]` of the configuration: absent, there is no such gateway.
package struct FCMConfiguration: Sendable, Equatable {
    /// The service account's JSON file.
    package var key: String

    /// Wake-ups in a minute: the quota that Google granted the project.
    package var perMinute = usualPerMinute

    package var reach = GatewayReach()

    package init(key: String) {
        self.key = key
    }

    /// What a project has unless it was asked for more (firebase.google.com, "FCM throttling and
    /// quotas"). The minutes are of no clock's, and what FCM refuses counts as well.
    package static let usualPerMinute = 600_000

    /// The keys of the section, with what they take; paths are relative to the file's directory.
    package static let words: [(key: String, takes: String)] =
        [
            ("key", "the path of the service account's JSON file"),
            ("per-minute", "a whole number from 600 to 60000000"),
        ] + GatewayReach.words

    /// From the section's keys and values, paths made absolute already; no keys: nil.
    /// - Throws: the first key that is missing or has no proper value.
    package init?(section: [String: String]) throws(GatewaySectionFault) {
        if section.isEmpty { return nil }
        guard let key = section["key"], !key.isEmpty else { throw .missing("key") }
        self.init(key: key)
        if let text = section["per-minute"] {
            guard let count = Int(text), (600...60_000_000).contains(count) else {
                throw .badValue("per-minute")
            }
            perMinute = count
        }
        reach = try GatewayReach(section: section)
    }

    /// Reads the service account's file.
    package func credentials() throws(FCMCredentialError) -> FCMCredentials {
        try FCMCredentials(file: key)
    }

    package var endpoint: GatewayEndpoint { GatewayEndpoint(host: "fcm.googleapis.com", reach) }
}
