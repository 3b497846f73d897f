import WakeClient
import WakeCommand

let storedCommand = Command(
    "stored", "everything the service holds about this device, and what it could do with it",
    options: [.init("--json", "as JSON")] + Profile.options
) { invocation throws(CommandFailure) in
    let profile = try Profile(invocation)
    let configuration = try profile.configuration()
    let stored: ServiceRow
    do throws(ClientError) {
        stored = try await ProfileVisit(configuration).storedRegistration()
    } catch {
        throw CommandFailure(error)
    }
    let isJSON = invocation.flag("--json")
    Console().out(bytes: isJSON ? StoredReport.json(stored) : StoredReport.text(stored))
    return .success
}
