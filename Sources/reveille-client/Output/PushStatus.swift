import Reveille
import WakeCommand
import WakeSystem
import WakeUnifiedPush

/// The pushes of a profile, as seen from outside of the running client.
struct PushStatus {
    private enum Presence: String {
        case running
        /// Not running; the bus starts it when it is called.
        case startable
        case absent
        /// There is no bus to ask.
        case unknown
    }

    private let distributor: String?
    private let hasKey: Bool
    private let presence: Presence
    /// The client has its name on the bus; nil when there is no bus.
    private let isConnected: Bool?
    private let isStarted: Bool
    private let registration: RegistrationState
    private let service: AppPushToken.Service?

    init(_ profile: Profile, _ configuration: ClientConfiguration) async throws(CommandFailure) {
        let values = try ProfileFile(profile: profile).values()
        let pushes = ProfilePushes(profile: profile)
        distributor = values["distributor"]
        hasKey = values["vapid"] != nil
        isStarted = ActivationFile.isOwn(try pushes.activationPath()) ?? false
        (registration, service) = try mapError(CommandFailure.init) { () throws(ClientError) in
            let access = try ProfileAccess(configuration)
            return (try access.registration(), try access.pushService())
        }
        (presence, isConnected) = await Self.query(distributor, pushes.busName)
    }

    /// The finding of `doctor`; nil when no distributor is chosen.
    var finding: Finding? {
        guard distributor != nil else { return nil }
        let hint = "reveille-client push status says more; polling continues"
        return switch presence {
        case .absent:
            .warning(
                "pushes", "the distributor is not installed any more",
                hint: "reveille-client push use chooses another; until then polling continues")
        case .unknown: .warning("pushes", "there is no session bus to bring them", hint: hint)
        case .running, .startable:
            isRegistered
                ? .ok("pushes", "a distributor brings them")
                : .warning(
                    "pushes", "the service has no endpoint of the distributor yet", hint: hint)
        }
    }

    private static func query(_ distributor: String?, _ name: String) async -> (Presence, Bool?) {
        do throws(BusError) {
            let bus = try await BusConnection.session()
            defer { bus.close() }
            let isConnected = try await bus.nameOwner(name) != nil
            let found = try await bus.distributors().first { $0.name == distributor }
            return (found.map { $0.isRunning ? .running : .startable } ?? .absent, isConnected)
        } catch {
            return (.unknown, nil)
        }
    }

    /// The service holds, or is to hold, an endpoint.
    private var isRegistered: Bool { service == .webPush && registration == .registered }

    var json: String {
        let members = [
            "\"distributor\":\(distributor.map { "\"\($0)\"" } ?? "null")",
            "\"presence\":\"\(presence.rawValue)\"",
            "\"connected\":\(isConnected.map { "\($0)" } ?? "null")",
            "\"started\":\(isStarted)", "\"vapid\":\(hasKey)",
            "\"endpoint\":\(service == .webPush)", Report.registration(registration),
        ]
        return "{\(members.joined(separator: ","))}"
    }

    var text: String {
        guard let distributor else { return "no distributor is chosen; `push use` chooses one" }
        let there =
            switch presence {
            case .running: "running"
            case .startable: "not running, started when it is needed"
            case .absent: "not installed any more"
            case .unknown: "unknown: there is no session bus here"
            }
        let client =
            switch isConnected {
            case true?: "on the bus"
            case false?: isStarted ? "started by the next push" : "not running"
            case nil: "cannot be reached by pushes"
            }
        let endpoint = isRegistered ? "an endpoint, " : ""
        return [
            "distributor     \(distributor)", "it is           \(there)",
            "this client is  \(client)",
            "registration    \(endpoint)\(Report.sentence(registration))",
            "VAPID key       \(hasKey ? "known" : "not given; some distributors want it")",
        ].joined(separator: "\n")
    }
}
