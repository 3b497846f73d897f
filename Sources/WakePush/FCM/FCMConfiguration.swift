/// The section `[fcm]` of the configuration: absent, there is no such gateway.
package struct FCMConfiguration: Sendable, Equatable {
    /// The service account's JSON file.
    package var key: String

    package var reach = GatewayReach()

    package init(key: String) {
        self.key = key
    }

    /// The keys of the section, with what they take; paths are relative to the file's directory.
    package static let words: [(key: String, takes: String)] =
        [
            ("key", "the path of the service account's JSON file")
        ] + GatewayReach.words

    /// From the section's keys and values, paths made absolute already; no keys: nil.
    /// - Throws: the first key that is missing or has no proper value.
    package init?(section: [String: String]) throws(GatewaySectionFault) {
        if section.isEmpty { return nil }
        guard let key = section["key"], !key.isEmpty else { throw .missing("key") }
        self.init(key: key)
        reach = try GatewayReach(section: section)
    }

    /// Reads the service account's file.
    package func credentials() throws(FCMCredentialError) -> FCMCredentials {
        try FCMCredentials(file: key)
    }

    package var endpoint: FCMEndpoint {
        var endpoint = FCMEndpoint()
        if let host = reach.host { endpoint.host = host }
        if let port = reach.port { endpoint.port = port }
        endpoint.authorityFile = reach.authorityFile
        endpoint.isPlain = reach.isPlain
        return endpoint
    }
}

extension FCMConfiguration {
    /// Words a mistake in the section for the operator.
    package static func message(_ fault: GatewaySectionFault) -> String {
        fault.message(section: "fcm", words: words)
    }
}
