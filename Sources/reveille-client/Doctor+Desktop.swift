import WakeBus
import WakeClient
import WakeCommand

/// What the user's desktop session brings. Names are looked up and nothing is started.
extension Doctor {
    private static let notifications = "org.freedesktop.Notifications"

    func desktop() async -> [Finding] {
        do throws(BusError) {
            let bus = try await BusConnection.session()
            defer { bus.close() }
            let isShown = try await Self.names(on: bus).contains(Self.notifications)
            return [
                .ok("bus", "there is a session bus"),
                .ok(
                    "notifications",
                    isShown ? "they can be shown" : "nobody shows any here; --notify would not tell"
                ),
            ]
        } catch {
            // Servers have none, and need none.
            return [.ok("bus", "no session bus; --notify and pushes would need one")]
        }
    }

    /// The names that somebody has, and those that the bus would start somebody for.
    private static func names(on bus: BusConnection) async throws(BusError) -> Set<String> {
        var names: Set<String> = []
        for member in ["ListNames", "ListActivatableNames"] {
            let answer = try await bus.call(
                .call(
                    "org.freedesktop.DBus", path: "/org/freedesktop/DBus",
                    interface: "org.freedesktop.DBus", member: member))
            guard case .array(_, let values)? = answer.body.first else { continue }
            for case .string(let name) in values {
                names.insert(String(decoding: name, as: UTF8.self))
            }
        }
        return names
    }
}
