import WakeFetch
import WakeModel
import WakePush

extension GatewaySection {
    /// Gateways that go through the relay of the app's owner.
    /// - Parameter section: for messages.
    static func make(
        _ relay: RelayConfiguration, _ services: [PushService], section: String
    ) throws(GatewayError) -> [any Gateway] {
        let key: RelayKey
        do throws(RelayKeyError) {
            key = try relay.relayKey()
        } catch {
            throw GatewayError(message: error.message(section: section))
        }
        do throws(PushEngineError) {
            try relay.checkAuthorities()
        } catch {
            let place = error == .authorityFile ? "ca: " : ""
            throw GatewayError(message: "[\(section)] \(place)\(error.words)")
        }
        var gateways: [any Gateway] = []
        for service in services {
            do throws(FetchError) {
                gateways.append(try RelayGateway(service, relay, key: key))
            } catch {
                throw GatewayError(
                    message: "[\(section)] via: libcurl.so.4 cannot be used\n"
                        + "hint: install the package libcurl4: apt-get install libcurl4")
            }
        }
        return gateways
    }
}

extension RelayConfiguration {
    /// What `check` says of it, with what the owner has to allow.
    var summary: String {
        let limit = perMinute == Self.usualPerMinute ? "" : ", at most \(perMinute) a minute"
        do throws(RelayKeyError) {
            return "via \(place), key \(try relayKey().publicText)" + limit
        } catch {
            // The gateway cannot be made either, which is said as a problem.
            return "via \(place)" + limit
        }
    }

    func limits(_ service: PushService) -> GatewayLimits {
        GatewayLimits(
            service, connections: RelayGateway.requestsAtOnce, quotaPerMinute: perMinute)
    }
}
