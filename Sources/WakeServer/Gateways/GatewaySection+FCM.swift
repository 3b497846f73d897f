import WakeModel
import WakePush

extension GatewaySection {
    static let fcm = GatewaySection(
        name: "fcm", services: [.fcm],
        words: FCMConfiguration.words + RelayConfiguration.words,
        read: { (section, configuration) throws(GatewaySectionFault) in
            configuration.fcmRelay = try RelayConfiguration(section: section)
            guard configuration.fcmRelay == nil else { return }
            configuration.fcm = try FCMConfiguration(section: section)
        },
        summary: { configuration in
            configuration.fcmRelay?.summary
                ?? configuration.fcm.map {
                    "at most \($0.perMinute) a minute, \($0.reach.words)"
                }
        },
        limits: { configuration in
            if let relay = configuration.fcmRelay { return [relay.limits(.fcm)] }
            guard let fcm = configuration.fcm else { return [] }
            return [
                GatewayLimits(
                    .fcm, connections: fcm.reach.connections, quotaPerMinute: fcm.perMinute)
            ]
        },
        make: { (configuration) throws(GatewayError) in
            if let relay = configuration.fcmRelay {
                return try make(relay, [.fcm], section: "fcm")
            }
            guard let fcm = configuration.fcm else { return [] }
            return [try make(fcm)]
        })

    private static func make(_ fcm: FCMConfiguration) throws(GatewayError) -> any Gateway {
        let credentials: FCMCredentials
        do throws(FCMCredentialError) {
            credentials = try fcm.credentials()
        } catch {
            throw GatewayError(message: error.message)
        }
        try fcm.reach.checkAuthorities(of: "fcm")
        do throws(FCMAccountError) {
            let account = try FCMAccount(credentials, authorityFile: fcm.reach.authorityFile)
            return FCMGateway(fcm, account: account)
        } catch {
            throw GatewayError(message: error.message)
        }
    }
}
