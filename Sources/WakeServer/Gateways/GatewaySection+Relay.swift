import WakeFetch
import WakeModel
import WakePush
import WakeSystem

extension GatewaySection {
    /// Gateways that go through the relay of the app's owner; the section is for messages.
    static func make(
        _ relay: RelayConfiguration, _ services: [PushService], section: String
    ) throws(SetupError) -> [any Gateway] {
        let key = try mapError({ SetupError($0.message(section: section)) }) {
            () throws(RelayKeyError) in try relay.relayKey()
        }
        try mapError({ SetupError($0, section: section) }) { () throws(PushEngineError) in
            try relay.checkAuthorities()
        }
        let unusable = SetupError(
            "[\(section)] via: libcurl.so.4 cannot be used\n"
                + "hint: install the package libcurl4: apt-get install libcurl4")
        return try mapError({ _ in unusable }) { () throws(FetchError) in
            try services.map { service throws(FetchError) in
                try RelayGateway(service, relay, key: key)
            }
        }
    }
}

extension RelayConfiguration {
    /// The summary that `check` prints, with the key that the owner has to allow.
    var summary: String {
        let limit = perMinute == Self.defaultPerMinute ? "" : ", at most \(perMinute) a minute"
        // Without a key the gateway cannot be made either, which is reported as a problem.
        let key = (try? relayKey()).map { ", key \($0.publicText)" } ?? ""
        return "via \(address)" + key + limit
    }
}

extension Configuration {
    /// A line about the section `[relay]`, and the reason why the relay refuses everyone, if any.
    package var relaySummary: (line: String, problem: String?) {
        guard let relay else { return ("off", nil) }
        var allowed = "nobody is allowed"
        var problem: String?
        do throws(StateFileError) {
            let file = StateFile.installations(relay.installations)
            let count = try file.installations().entries.count
            allowed = "\(count == 0 ? "no" : "\(count)") installation\(count > 1 ? "s" : "")"
        } catch {
            problem =
                error.isNotPermitted
                ? "\(error.path): cannot be read, or others can write it" : error.message
        }
        let line =
            "on, as \(relay.authority), \(allowed), \(relay.wakesPerMinute) wake-ups a minute each,"
            + " for \(relayedServices)"
        return (line, problem)
    }

    private var relayedServices: String {
        let relayed = GatewaySection.all.filter { sections[$0.name]?["via"] != nil }
            .flatMap(\.services)
        let names = Gateways.states(self)
            .filter { $0.isOn && RelayBatch.services.contains($0.service) }
            .map(\.service)
            .filter { !relayed.contains($0) && ($0 != .fcm || fcm?.wakesTokens != false) }
            .map(\.name.description)
        return names.isEmpty ? "no push service" : names.joined(separator: ", ")
    }
}
