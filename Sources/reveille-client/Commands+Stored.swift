import WakeClient
import WakeCommand
import WakeModel

let storedCommand = Command(
    "stored", "everything the service holds about this device, raw and decoded",
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
    Console().out(bytes: invocation.flag("--json") ? storedJSON(stored) : storedText(stored))
    return .success
}

private func storedJSON(_ stored: ServiceRow) -> [UInt8] {
    var text = JSONText(capacity: 2048)
    text.beginObject()
    text.member("stored", bool: stored.row != nil)
    if let row = stored.row {
        text.member("generation", string: row.generation.rawValue)
        text.beginObject("columns")
        text.member("id", string: Hex.encode(row.id.span).span)
        text.member("sealed", string: Hex.encode(row.sealed.span).span)
        text.endObject()
        text.beginObject("decoded")
        text.member("service", string: row.token.service.rawValue)
        let token = row.token.text()
        text.member("token", string: token.span)
        text.endObject()
    }
    text.member("policy", string: stored.policyHash)
    text.endObject()
    return text.bytes + [0x0A]
}

private func storedText(_ stored: ServiceRow) -> [UInt8] {
    guard let row = stored.row else {
        return Array("the service holds nothing about this device\n".utf8)
    }
    var text = Array("the service holds one row of two columns:\n  id      ".utf8)
    text += Hex.encode(row.id.span)
    text += Array("\n  sealed  ".utf8)
    text += Hex.encode(row.sealed.span)
    text += Array(
        "\nopened, the sealed column says:\n  service \(row.token.service.rawValue)\n".utf8)
    text += Array("  token   ".utf8)
    text += row.token.text()
    text += Array("\nit lies in the \(row.generation.rawValue) generation\n".utf8)
    text += Array("the policy in force has the hash \(stored.policyHash)\n".utf8)
    return text
}
