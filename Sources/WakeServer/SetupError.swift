import WakeFetch
package import WakeHTTP
import WakeModel
import WakePush
package import WakeStore
import WakeSystem

/// The reason why a part of the service cannot work as it is configured. Two lines: what is wrong,
/// and what to do.
package struct SetupError: Error, Sendable, Equatable {
    /// As the log names it when a reload is refused for it.
    let cause: ReloadRefusal.Cause
    package let message: String
    /// A library of the system is missing or unfit: the service does without this gateway.
    package let isOptional: Bool

    init(
        _ message: String, _ cause: ReloadRefusal.Cause = .configuration, isOptional: Bool = false
    ) {
        (self.message, self.cause, self.isOptional) = (message, cause, isOptional)
    }

    init(_ error: PushEngineError, section: String) {
        let key = if case .authorityFile = error { "ca: " } else { "" }
        self.init("[\(section)] \(key)\(error.message)")
    }
}

/// The parts that a configuration names, opened for a start or a reload; without the store and the
/// listeners.
struct OpenedParts {
    let budget: DescriptorBudget
    let token: AdminToken?
    let gateways: GatewaySet
    let remote: RemoteFeedHead?
    let ring: ObliviousKeyRing?

    /// - Parameter former: the gateways in force.
    init(
        _ configuration: Configuration, keeping former: GatewaySet = GatewaySet(), log: Log
    ) throws(SetupError) {
        budget = try DescriptorBudget(configuration)
        token = try configuration.readAdminToken()
        gateways = try mapError({ SetupError($0.message, .gateway, isOptional: $0.isOptional) }) {
            () throws(SetupError) in
            try GatewaySet(configuration, keeping: former) { service, _ in
                log(.gatewayStopped(service, .unavailable(.libraryMissing, service)))
            }
        }
        remote = try configuration.remoteHead()
        ring = try configuration.obliviousKeys()
    }
}

package enum ServiceError: Error {
    case setup(SetupError)
    case store(StoreOpenError)
    case http(HTTPServerError)
}

extension Service {
    /// A reason why a service would not start, and the part of its configuration that it is about.
    package struct Obstacle {
        /// As `reveille check` names it.
        package let part: String
        package let error: ServiceError
    }

    /// Finds what `init` would throw, each part for itself and in the same order, and changes
    /// nothing.
    /// - Returns: also whether the service is running already.
    package static func examine(
        _ configuration: Configuration
    ) -> (obstacles: [Obstacle], isRunning: Bool) {
        var obstacles: [Obstacle] = []
        func attempt(_ part: String, _ body: () throws(SetupError) -> Void) {
            do throws(SetupError) {
                try body()
            } catch { obstacles.append(Obstacle(part: part, error: .setup(error))) }
        }
        attempt("connections") { () throws(SetupError) in _ = try DescriptorBudget(configuration) }
        attempt("admin") { () throws(SetupError) in _ = try configuration.readAdminToken() }
        for (service, error) in Gateways.faults(configuration) where !error.isOptional {
            obstacles.append(Obstacle(part: "\(service.name)", error: .setup(error)))
        }
        attempt("watch") { () throws(SetupError) in _ = try configuration.remoteHead() }
        attempt("oblivious") { () throws(SetupError) in _ = try configuration.obliviousKeys() }
        var isRunning = false
        do throws(StoreOpenError) {
            isRunning = try Store.examine(configuration.store)
        } catch {
            obstacles.append(
                Obstacle(part: error.isOfKeys ? "store keys" : "store", error: .store(error)))
        }
        for (index, (section, address)) in configuration.listeners.enumerated() {
            do throws(HTTPServerError) {
                try HTTPServer.examine(address, listener: index)
            } catch {
                // The service itself has it.
                if isRunning, case .addressInUse = error { continue }
                obstacles.append(Obstacle(part: section, error: .http(error)))
            }
        }
        return (obstacles, isRunning)
    }
}
