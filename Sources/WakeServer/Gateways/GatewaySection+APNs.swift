import WakeModel
import WakePush

extension GatewaySection {
    /// One key of Apple's serves production and sandbox.
    static let apns = GatewaySection(
        name: "apns", services: [.apns, .apnsSandbox],
        words: APNsConfiguration.words + RelayConfiguration.words,
        read: { (section, configuration) throws(GatewaySectionFault) in
            configuration.apnsRelay = try RelayConfiguration(section: section)
            guard configuration.apnsRelay == nil else { return }
            configuration.apns = try APNsConfiguration(section: section)
        },
        summary: { configuration in
            configuration.apnsRelay?.summary
                ?? configuration.apns.map { "topic \($0.topic), \($0.reach.words)" }
        },
        limits: { configuration in
            if let relay = configuration.apnsRelay { return [relay.limits(.apns)] }
            guard let apns = configuration.apns else { return [] }
            return [GatewayLimits(.apns, connections: apns.reach.connections)]
        },
        make: { (configuration) throws(GatewayError) in
            if let relay = configuration.apnsRelay {
                return try make(relay, [.apns, .apnsSandbox], section: "apns")
            }
            guard let apns = configuration.apns else { return [] }
            return try make(apns, tokenFile: configuration.providerToken)
        })

    private static func make(
        _ apns: APNsConfiguration, tokenFile: String
    ) throws(GatewayError) -> [any Gateway] {
        let credentials: APNsCredentials
        do throws(APNsCredentialError) {
            credentials = try apns.credentials()
        } catch {
            throw GatewayError(message: error.message)
        }
        try apns.reach.checkAuthorities(of: "apns")
        let team: APNsTeam
        do throws(ProviderTokenError) {
            team = try APNsTeam(credentials, tokenFile: tokenFile)
        } catch {
            throw GatewayError(message: error.message)
        }
        return PushService.allCases.compactMap { APNsGateway($0, apns, team: team) }
    }
}
