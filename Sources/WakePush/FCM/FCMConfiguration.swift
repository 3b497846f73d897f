package import WakeModel

/// The section `[fcm]` of the configuration: absent, there is no such gateway.
package struct FCMConfiguration: Sendable, Equatable {
    /// The JSON file of a service account or external account; nil: the metadata server's.
    package var key: String?
    /// The ID of the Firebase project, unless the file's.
    package var project: String?
    /// Wake-ups in a minute: the quota that Google granted the project.
    package var perMinute = usualPerMinute
    package var options = EndpointOptions()
    package var topic: FCMTopic?
    /// Whether push tokens are registered and woken one by one.
    package var wakesTokens = true

    /// The usual quota of a project (firebase.google.com, "FCM throttling and quotas").
    package static let usualPerMinute = 600_000
    /// FCM's front allows 100 streams on each.
    package static let usualConnections = 10

    /// The keys of the section; paths are relative to the file's directory.
    package static let words: [SettingKey] =
        [
            SettingKey(
                "key", "the path of the service account's JSON file",
                "The file as downloaded from the Firebase console, mode 0600; or that of an "
                    + "external account (workload identity)."),
            SettingKey(
                "credentials", "file, or metadata (this machine's at Google, without key)",
                usual: "file", "Where access tokens come from."),
            SettingKey(
                "project", "the ID of the Firebase project",
                "Needed with `credentials = metadata`; else that of the file."),
            SettingKey(
                "per-minute", "a whole number from 600 to 60000000", usual: "\(usualPerMinute)",
                "Wake-ups in a minute: the quota that Google granted the project."),
        ] + FCMTopic.words + EndpointOptions.words(connections: usualConnections)

    /// From the section, with absolute paths; nil without keys. Throws the first fault.
    package init?(section: [String: String]) throws(GatewaySectionFault) {
        if section.isEmpty { return nil }
        let values = SectionValues(section)
        if try values.choice("credentials", ["file": true, "metadata": false]) ?? true {
            key = try values.required("key")
        } else {
            _ = try values.required("project")
            if section["key"] != nil { throw .badValue("credentials") }
        }
        project = try values.value("project") { FCMCredentials.isProject($0.utf8) ? $0 : nil }
        perMinute = try values.number("per-minute", in: 600...60_000_000) ?? perMinute
        topic = try FCMTopic(section: section)
        wakesTokens = try values.choice("tokens", ["on": true, "off": false]) ?? (topic == nil)
        options = try EndpointOptions(section: section)
        if section["connections"] == nil { options.connections = Self.usualConnections }
    }

    package func credentials() throws(FCMCredentialError) -> any FCMIdentity {
        guard let key else { return try FCMMetadataServer(project: project) }
        return try FCMCredentials.identity(file: key, project: project)
    }

    package var endpoint: GatewayEndpoint { GatewayEndpoint(host: "fcm.googleapis.com", options) }
}
