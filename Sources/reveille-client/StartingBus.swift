import WakeBus

/// The bus that started this program for a message, when one did.
///
/// Such a client goes with its bus, as everything that a session started: in the next session,
/// whose bus may be elsewhere, nobody could reach it, its notifications would go nowhere, and its
/// lock would keep out the client that the next push starts.
enum StartingBus {
    /// D-Bus Specification, "Message Bus Starting Services": set for what a bus starts. A service
    /// manager that starts a unit instead sets nothing, and ends it by itself.
    static var isThere: Bool { Environment.value("DBUS_STARTER_ADDRESS") != nil }

    /// Returns when the bus has gone, or the task is cancelled.
    static func ends() async {
        do throws(BusError) {
            let bus = try await BusConnection.session()
            defer { bus.close() }
            for await _ in bus.messages {}
        } catch {
            // It has gone already.
        }
    }
}
