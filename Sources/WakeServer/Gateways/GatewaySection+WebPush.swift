import WakeModel
import WakePush

extension GatewaySection {
    static let webPush = GatewaySection(
        name: "webpush", services: [.webPush], words: WebPushConfiguration.words,
        read: { (section, configuration) throws(GatewaySectionFault) in
            configuration.webPush = try WebPushConfiguration(section: section)
        },
        summary: { configuration in configuration.webPush.map(words) },
        limits: { configuration in
            guard configuration.webPush != nil else { return [] }
            return [
                GatewayLimits(
                    .webPush, connections: WebPushGateway.requestsAtOnce, streams: 1)
            ]
        },
        make: { (configuration) throws(GatewayError) in
            guard let webPush = configuration.webPush else { return [] }
            do throws(WebPushGatewayError) {
                return [try WebPushGateway(webPush)]
            } catch {
                throw GatewayError(
                    message: error.message, isOptional: error.isLibraryMissing)
            }
        })

    /// What apps need of it stands first. A key that cannot be read is a fault of its own.
    private static func words(_ webPush: WebPushConfiguration) -> String {
        var words: [String] = []
        if let key = try? webPush.vapidKey() { words.append("public key \(key.publicText)") }
        words.append("hosts \(webPush.hosts.words)")
        if webPush.body == .byte { words.append("body byte") }
        if webPush.subject == nil { words.append("no subject: Apple's push service wants one") }
        if webPush.connect != nil { words.append("through connect") }
        return words.joined(separator: ", ")
    }
}

extension PushHostRules {
    /// For `check`: how many, not which.
    var words: String {
        if isAny { return "any" }
        if isKnown { return named == 0 ? "known" : "known and \(named) more" }
        return "\(named) named"
    }
}
