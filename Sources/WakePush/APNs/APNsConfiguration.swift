package import WakeModel

/// The section `[apns]` of the configuration: absent, there is no such gateway.
package struct APNsConfiguration: Sendable, Equatable {
    /// The `.p8` file.
    package var key: String
    package var keyID: String
    package var teamID: String
    package var topic: String

    package var reach = GatewayReach()

    package init(key: String, keyID: String, teamID: String, topic: String) {
        self.key = key
        self.keyID = keyID
        self.teamID = teamID
        self.topic = topic
    }

    /// The keys of the section, with what they take; paths are relative to the file's directory.
    package static let words: [(key: String, takes: String)] =
        [
            ("key", "the path of the .p8 file"),
            ("key-id", "ten capital letters and digits"),
            ("team-id", "ten capital letters and digits"),
            ("topic", "the app's bundle identifier"),
        ] + GatewayReach.words

    /// From the section's keys and values, paths made absolute already; no keys: nil.
    /// - Throws: the first key that is missing or has no proper value.
    package init?(section: [String: String]) throws(GatewaySectionFault) {
        if section.isEmpty { return nil }
        func required(_ key: String) throws(GatewaySectionFault) -> String {
            guard let value = section[key], !value.isEmpty else { throw .missing(key) }
            return value
        }
        self.init(
            key: try required("key"), keyID: try required("key-id"),
            teamID: try required("team-id"), topic: try required("topic"))
        reach = try GatewayReach(section: section)
    }

    /// Reads the key file.
    package func credentials() throws(APNsCredentialError) -> APNsCredentials {
        try APNsCredentials(teamID: teamID, keyID: keyID, topic: topic, keyFile: key)
    }

    /// nil for push tokens that are not of APNs.
    package func endpoint(_ service: PushService) -> GatewayEndpoint? { .apns(service, reach) }
}
