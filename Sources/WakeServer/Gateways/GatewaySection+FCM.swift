import WakeModel
import WakePush

extension GatewaySection {
    static let fcm = GatewaySection(
        name: "fcm", services: [.fcm], words: FCMConfiguration.words,
        read: { (section, configuration) throws(GatewaySectionFault) in
            configuration.fcm = try FCMConfiguration(section: section)
        },
        summary: { configuration in
            configuration.fcm.map { "at most \($0.perMinute) a minute, \($0.reach.words)" }
        },
        limits: { configuration in
            guard let fcm = configuration.fcm else { return [] }
            return [
                GatewayLimits(
                    .fcm, connections: fcm.reach.connections, quotaPerMinute: fcm.perMinute)
            ]
        },
        make: { (configuration) throws(GatewayError) in
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
