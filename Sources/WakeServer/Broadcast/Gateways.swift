import WakeModel
package import WakePush

/// The gateways that a configuration asks for.
package enum Gateways {
    /// What there is for APNs, in a line, without secrets.
    package static func apns(_ configuration: Configuration) -> String {
        guard let apns = configuration.apns else {
            return "off: no section [apns]; registrations are kept for it"
        }
        let place = apns.reach.host.map { ", at \($0)" } ?? ""
        return "on, topic \(apns.topic), connections \(apns.reach.connections)\(place)"
    }

    /// How fast the gateways of a configuration are, without making them. Without any, as fast as
    /// one of APNs would be: for plans on paper.
    package static func limits(_ configuration: Configuration) -> [GatewayLimits] {
        [GatewayLimits(.apns, connections: configuration.apns?.reach.connections ?? 1)]
    }

    /// Reads credentials and kept tokens; sends nothing.
    /// - Throws: a section that cannot work. None of a section is not an error: registrations of
    ///   its push services then get no wake-ups but those of the event stream.
    package static func make(
        _ configuration: Configuration
    ) throws(GatewayError) -> [any Gateway] {
        guard let apns = configuration.apns else { return [] }
        let credentials: APNsCredentials
        do throws(APNsCredentialError) {
            credentials = try apns.credentials()
        } catch {
            throw GatewayError(message: error.message)
        }
        do throws(PushEngineError) {
            try apns.reach.checkAuthorities()
        } catch {
            throw GatewayError(message: "[apns] ca: " + error.words)
        }
        let team: APNsTeam
        do throws(ProviderTokenError) {
            team = try APNsTeam(credentials, tokenFile: configuration.providerToken)
        } catch {
            throw GatewayError(message: error.message)
        }
        return PushService.allCases.compactMap { APNsGateway($0, apns, team: team) }
    }
}

/// Why a gateway cannot be made. Two lines: what is wrong, and what to do.
package struct GatewayError: Error, Sendable, Equatable {
    package let message: String
}
