package import WakeModel

/// The section `[apns]` of the configuration: absent, there is no such gateway.
package struct APNsConfiguration: Sendable, Equatable {
    package var key: String
    package var keyID: String
    package var teamID: String
    package var topic: String
    package var options = EndpointOptions()

    package init(key: String, keyID: String, teamID: String, topic: String) {
        self.key = key
        self.keyID = keyID
        self.teamID = teamID
        self.topic = topic
    }

    /// The keys of the section; paths are relative to the file's directory.
    package static let words: [SettingKey] =
        [
            SettingKey(
                "key", "the path of the .p8 file",
                "The key as downloaded from the developer account, mode 0600."),
            SettingKey(
                "key-id", "ten capital letters and digits",
                "The id of the key, which its name has: AuthKey_ID.p8."),
            SettingKey(
                "team-id", "ten capital letters and digits", "The id of the developer's team."),
            SettingKey("topic", "the app's bundle identifier", "The app that is woken."),
        ] + APNsEnvironments.words + EndpointOptions.words()

    /// From the section, with absolute paths; nil without keys. Throws the first fault.
    package init?(section: [String: String]) throws(GatewaySectionFault) {
        if section.isEmpty { return nil }
        let values = SectionValues(section)
        self.init(
            key: try values.required("key"), keyID: try values.required("key-id"),
            teamID: try values.required("team-id"), topic: try values.required("topic"))
        options = try EndpointOptions(section: section)
    }

    package func credentials() throws(APNsCredentialError) -> APNsCredentials {
        try APNsCredentials(teamID: teamID, keyID: keyID, topic: topic, keyFile: key)
    }

    /// nil for push tokens that are not of APNs.
    package func endpoint(_ service: PushService) -> GatewayEndpoint? { .apns(service, options) }
}

/// The environments whose push tokens are registered and woken. Keys made since 2025 may be for one
/// of them alone (Apple, "Communicate with APNs using authentication tokens").
package enum APNsEnvironments: Sendable, Equatable {
    case production, sandbox, both

    package static let key = "environments"
    static let words = [
        SettingKey(
            key, "production, sandbox or both", usual: "both",
            "The environments whose push tokens are taken: a key may be for one of them alone.")
    ]

    /// From the section `[apns]`, also beside `via`; both without the key.
    package init(section: [String: String]) throws(GatewaySectionFault) {
        let values: [String: APNsEnvironments] = [
            "production": .production, "sandbox": .sandbox, "both": .both,
        ]
        self = try SectionValues(section).choice(Self.key, values) ?? .both
    }

    package var services: [PushService] {
        switch self {
        case .production: [.apns]
        case .sandbox: [.apnsSandbox]
        case .both: [.apns, .apnsSandbox]
        }
    }
}

extension GatewayEndpoint {
    /// Apple's address for the environment that is sealed with a push token; nil if not of APNs.
    package static func apns(
        _ service: PushService, _ options: EndpointOptions = EndpointOptions()
    ) -> GatewayEndpoint? {
        switch service {
        case .apns: GatewayEndpoint(host: "api.push.apple.com", options)
        case .apnsSandbox: GatewayEndpoint(host: "api.sandbox.push.apple.com", options)
        case .fcm, .webPush: nil
        }
    }
}
