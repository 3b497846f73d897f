/// The section `[fcm]` of the configuration: absent, there is no such gateway.
package struct FCMConfiguration: Sendable, Equatable {
    package var key: String
    /// Wake-ups in a minute: the quota that Google granted the project.
    package var perMinute = usualPerMinute
    package var options = EndpointOptions()

    package init(key: String) { self.key = key }

    /// The usual quota of a project (firebase.google.com, "FCM throttling and quotas").
    package static let usualPerMinute = 600_000

    /// The keys of the section, and their values; paths are relative to the file's directory.
    package static let words: [(key: String, takes: String)] =
        [
            ("key", "the path of the service account's JSON file"),
            ("per-minute", "a whole number from 600 to 60000000"),
        ] + EndpointOptions.words

    /// From the section, with absolute paths; nil without keys. Throws the first fault.
    package init?(section: [String: String]) throws(GatewaySectionFault) {
        if section.isEmpty { return nil }
        let values = SectionValues(section)
        self.init(key: try values.required("key"))
        perMinute = try values.number("per-minute", in: 600...60_000_000) ?? perMinute
        options = try EndpointOptions(section: section)
    }

    package func credentials() throws(FCMCredentialError) -> FCMCredentials {
        try FCMCredentials(file: key)
    }

    package var endpoint: GatewayEndpoint { GatewayEndpoint(host: "fcm.googleapis.com", options) }
}
