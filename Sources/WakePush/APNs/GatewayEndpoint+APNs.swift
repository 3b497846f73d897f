package import WakeModel

extension GatewayEndpoint {
    /// Where Apple's push service is. The environment is part of what was sealed with the push
    /// token: they cannot mix.
    /// - Returns: nil for push tokens that are not of APNs.
    package static func apns(
        _ service: PushService, _ reach: GatewayReach = GatewayReach()
    ) -> GatewayEndpoint? {
        switch service {
        case .apns: GatewayEndpoint(host: "api.push.apple.com", reach)
        case .apnsSandbox: GatewayEndpoint(host: "api.sandbox.push.apple.com", reach)
        case .fcm, .webPush: nil
        }
    }
}
