import WakeModel
import WakePush
import WakeSystem

/// One section of the configuration that turns push services on: its keys and its gateways.
struct GatewaySection: Sendable {
    let name: String
    /// The services of the push tokens that its gateways wake.
    let services: [PushService]
    let words: [SettingKey]
    /// Sets what the section's keys and values say, paths made absolute already; no keys: nothing.
    let read: @Sendable ([String: String], inout Configuration) throws(GatewaySectionFault) -> Void
    /// A summary of a few words without secrets; nil when it is off.
    let summary: @Sendable (Configuration) -> String?
    /// Those of its services that it turns on when it is there; nil: all.
    var served: @Sendable (Configuration) -> [PushService]? = { _ in nil }
    /// Connections that its gateways have open at most, without making them; 0 when it is off.
    let connections: @Sendable (Configuration) -> Int
    /// Reads credentials and kept tokens and sends nothing; empty when it is off.
    let make: @Sendable (Configuration) throws(SetupError) -> [any Gateway]

    static let all: [GatewaySection] = [apns, fcm, webPush]

    func services(in configuration: Configuration) -> [PushService] {
        served(configuration) ?? services
    }
}

extension GatewaySection {
    /// One key of Apple's may serve production and sandbox.
    static let apns = GatewaySection(
        name: "apns", services: [.apns, .apnsSandbox],
        words: APNsConfiguration.words + RelayConfiguration.words,
        read: { (section, configuration) throws(GatewaySectionFault) in
            configuration.apnsEnvironments = try APNsEnvironments(section: section)
            let relayed = section.filter { $0.key != APNsEnvironments.key }
            configuration.apnsRelay = try RelayConfiguration(section: relayed)
            guard configuration.apnsRelay == nil else { return }
            configuration.apns = try APNsConfiguration(section: section)
        },
        summary: {
            $0.apnsRelay?.summary ?? $0.apns.map { "topic \($0.topic), \($0.options.summary)" }
        },
        served: { $0.apnsEnvironments.services },
        connections: { configuration in
            // Both environments, each connection with its successor.
            if configuration.apnsRelay != nil { return 4 * RelayGateway.requestsAtOnce }
            return 4 * (configuration.apns?.options.connections ?? 0)
        },
        make: { (configuration) throws(SetupError) in
            if let relay = configuration.apnsRelay {
                return try make(
                    relay, configuration.apnsEnvironments.services, section: "apns")
            }
            guard let apns = configuration.apns else { return [] }
            let credentials = try mapError({ SetupError($0.message) }) {
                () throws(APNsCredentialError) in try apns.credentials()
            }
            try apns.options.checkAuthorities(of: "apns")
            let tokens = try mapError({ SetupError($0.message) }) {
                () throws(ProviderTokenError) in
                try APNsTokenProvider(credentials, tokenFile: configuration.data + "/apns-token")
            }
            return configuration.apnsEnvironments.services.compactMap {
                APNsGateway($0, apns, tokens: tokens)
            }
        })

    static let fcm = GatewaySection(
        name: "fcm", services: [.fcm],
        words: FCMConfiguration.words + RelayConfiguration.words,
        read: { (section, configuration) throws(GatewaySectionFault) in
            configuration.fcmRelay = try RelayConfiguration(section: section)
            guard configuration.fcmRelay == nil else { return }
            configuration.fcm = try FCMConfiguration(section: section)
        },
        summary: {
            $0.fcmRelay?.summary
                ?? $0.fcm.map { $0.summary }
        },
        connections: { configuration in
            if configuration.fcmRelay != nil { return 4 * RelayGateway.requestsAtOnce }
            guard let fcm = configuration.fcm, fcm.wakesTokens else { return 0 }
            return 4 * fcm.options.connections
        },
        make: { (configuration) throws(SetupError) in
            if let relay = configuration.fcmRelay { return try make(relay, [.fcm], section: "fcm") }
            guard let fcm = configuration.fcm else { return [] }
            let credentials = try mapError({ SetupError($0.message) }) {
                () throws(FCMCredentialError) in try fcm.credentials()
            }
            try fcm.options.checkAuthorities(of: "fcm")
            let tokens = try mapError({ SetupError($0.message) }) {
                () throws(FCMTokenProviderError) in
                try FCMTokenProvider(credentials, authorityFile: fcm.options.authorityFile)
            }
            return [FCMGateway(fcm, tokens: tokens)]
        })

    static let webPush = GatewaySection(
        name: "webpush", services: [.webPush], words: WebPushConfiguration.words,
        read: { (section, configuration) throws(GatewaySectionFault) in
            configuration.webPush = try WebPushConfiguration(section: section)
        },
        summary: { $0.webPush.map(summary) },
        connections: { $0.webPush == nil ? 0 : WebPushGateway.requestsAtOnce },
        make: { (configuration) throws(SetupError) in
            guard let webPush = configuration.webPush else { return [] }
            return try mapError({
                SetupError($0.message, isOptional: $0.isLibraryMissing)
            }) { () throws(WebPushGatewayError) in [try WebPushGateway(webPush)] }
        })

    private static func summary(_ webPush: WebPushConfiguration) -> String {
        var parts: [String] = []
        // A key that cannot be read is a fault of its own.
        if let key = try? webPush.vapidKey() { parts.append("public key \(key.publicText)") }
        parts.append("hosts \(webPush.hosts.summary)")
        if webPush.body == .byte { parts.append("body byte") }
        if webPush.subject == nil { parts.append("no subject: Apple's endpoints are refused") }
        if webPush.heartbeat { parts.append("heartbeats to browsers") }
        if webPush.connect != nil { parts.append("through connect") }
        return parts.joined(separator: ", ")
    }
}

extension FCMConfiguration {
    fileprivate var summary: String {
        let parts = [
            key == nil ? "credentials metadata" : nil, topic?.summary,
            wakesTokens ? "at most \(perMinute) a minute" : "no push tokens", options.summary,
        ]
        return parts.compactMap(\.self).joined(separator: ", ")
    }
}

extension EndpointOptions {
    fileprivate var summary: String {
        "connections \(connections)" + (host.map { ", at \($0)" } ?? "")
    }

    fileprivate func checkAuthorities(of section: String) throws(SetupError) {
        try mapError({ SetupError($0, section: section) }) { () throws(PushEngineError) in
            try checkAuthorities()
        }
    }
}

extension PushHostRules {
    fileprivate var summary: String {
        if isAny { return "any" }
        if isKnown { return named == 0 ? "known" : "known and \(named) more" }
        return "\(named) named"
    }
}
