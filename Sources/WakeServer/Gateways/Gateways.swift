package import WakeModel
package import WakePush

/// The gateways that a configuration asks for.
package enum Gateways {
    /// Whether a push service is served, and why not.
    package struct State: Sendable, Equatable {
        package let service: PushService
        package let isOn: Bool
        /// In a line, without secrets.
        package let words: String
    }

    /// Every push service there is, in one order.
    package static func states(_ configuration: Configuration) -> [State] {
        PushService.allCases.map { service in
            let section = GatewaySection.all.first { $0.services.contains(service) }
            if let summary = section?.summary(configuration) {
                return State(service: service, isOn: true, words: "on, \(summary)")
            }
            let reason = section.map { section in
                let isThere = configuration.gatewaySections[section.name] != nil
                return isThere
                    ? "section [\(section.name)] is empty" : "no section [\(section.name)]"
            }
            return State(
                service: service, isOn: false,
                words: "off: \(reason ?? "no gateway in this version"); its push tokens are refused"
            )
        }
    }

    /// How fast the gateways of a configuration are, without making them. Without any, as fast as
    /// one of APNs would be: for plans on paper.
    package static func limits(_ configuration: Configuration) -> [GatewayLimits] {
        let limits = GatewaySection.all.flatMap { $0.limits(configuration) }
        return limits.isEmpty ? [GatewayLimits(.apns, connections: 1)] : limits
    }

    /// Reads credentials and kept tokens; sends nothing.
    /// - Parameter left: told which push service is done without, and why.
    /// - Throws: a section that cannot work. None of a section is not an error: registrations of
    ///   its push services are refused then, and those that are there get no wake-ups but those of
    ///   the event stream.
    package static func make(
        _ configuration: Configuration, left: (PushService, GatewayError) -> Void = { _, _ in }
    ) throws(GatewayError) -> [any Gateway] {
        var gateways: [any Gateway] = []
        for section in GatewaySection.all {
            do throws(GatewayError) {
                gateways += try section.make(configuration)
            } catch {
                guard error.isOptional else { throw error }
                for service in section.services { left(service, error) }
            }
        }
        return gateways
    }

    /// What keeps the gateways of each section from being made, with the first push service of the
    /// section.
    package static func faults(
        _ configuration: Configuration
    ) -> [(service: PushService, error: GatewayError)] {
        GatewaySection.all.compactMap { section in
            do throws(GatewayError) {
                _ = try section.make(configuration)
                return nil
            } catch {
                return section.services.first.map { ($0, error) }
            }
        }
    }
}
