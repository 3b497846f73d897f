import Reveille
import WakeCommand
import WakeModel
import WakeSystem

let storedCommand = Command(
    "stored", "show all that the service holds about this device, and what it could do with it",
    options: [.init("--json", "as JSON")] + Profile.options
) { invocation throws(CommandFailure) in
    let (profile, configuration) = try Profile.open(invocation)
    let stored = try await mapClientError { () async throws(ClientError) in
        try await storedRegistration(profile, configuration)
    }
    let isJSON = invocation.flag("--json")
    Console().out(bytes: isJSON ? StoredReport.json(stored) : StoredReport.text(stored))
    return .success
}

private func storedRegistration(
    _ profile: Profile, _ configuration: ClientConfiguration
) async throws(ClientError) -> HeldRegistration {
    do throws(ClientError) {
        return try await ProfileAccess(configuration).storedRegistration()
    } catch {
        // A newer head may name another key, which only who holds the profile fetches.
        guard error == .gatewayKey else { throw error }
        do throws(ClientError) {
            return try await profile.client(configuration).storedRegistration()
        } catch .locked { throw .gatewayKey }
    }
}

/// The service's row about this device and its uses, for people and for scripts.
enum StoredReport {
    /// What the operator of the service could do with the row. Nothing in it needs JSON escapes.
    static let can = [
        "decrypt the sealed column with the key of the service: learn the push token and its "
            + "push service",
        "wake this device, with an empty push, until the push service calls the push token gone",
        "decrypt every row to see whether a given push token is among them",
        "find this row for a holder of this device's instance token",
        "delete the row",
    ]

    static let cannot = [
        "know who or where you are, or when you registered: no name, address or date is stored",
        "find the row by your name, number or device: only the instance token leads to it",
        "see whether two rows are of one person, or what this device registered before",
        "learn whether anything that was published concerned you: that is checked on this device",
        "read the row in an old copy once the key of its generation is destroyed",
    ]

    private static let columns = 72

    static func json(_ stored: HeldRegistration) -> [UInt8] {
        var text = JSONText(capacity: 4096)
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
            text.member("token", string: row.token.text().span)
            text.endObject()
        }
        text.member("policy", string: stored.policyHash)
        text.beginObject("operator")
        text.member("can", raw: array(stored.row == nil ? [] : can))
        text.member("cannot", raw: array(cannot))
        text.endObject()
        text.endObject()
        return text.bytes + [0x0A]
    }

    /// Bytes and not a string: the push token is in them.
    static func text(_ stored: HeldRegistration) -> [UInt8] {
        var text: [UInt8] = []
        if let row = stored.row {
            text += "the service holds one row of two columns about this device:\n".utf8
            text += wrapped("id", Hex.encode(row.id.span))
            text += wrapped("sealed", Hex.encode(row.sealed.span))
            text += "opened with the service's key, the sealed column says:\n".utf8
            text += wrapped("service", Array(row.token.service.rawValue.utf8))
            text += wrapped("token", row.token.text())
            text += "generation: \(description(row.generation))\n".utf8
        } else {
            text += "the service holds nothing about this device\n".utf8
        }
        text += "policy: \(stored.policyHash)\n".utf8
        text += "  BLAKE2b-256 of the policy in force, which GET /v1/policy answers\n".utf8
        if stored.row != nil {
            text += list("with this row, the operator of the service could:", can)
            text += list("and could not:", cannot)
        }
        return text
    }

    private static func description(_ generation: HeldRegistration.Generation) -> String {
        switch generation {
        case .current: "current, registered or renewed since the keys last changed"
        case .previous: "previous, to be erased with its keys at their next change unless renewed"
        }
    }

    /// A name, and the value beside it in lines of one width.
    private static func wrapped(_ name: String, _ value: [UInt8]) -> [UInt8] {
        let width = columns - 11
        // An even number, so that no byte of hexadecimal is cut in two.
        let step = width - width % 2
        var text: [UInt8] = []
        for start in stride(from: 0, to: value.count, by: step) {
            let label = start == 0 ? name : ""
            text += ("  " + label).utf8
            text += [UInt8](repeating: UInt8(ascii: " "), count: 9 - label.utf8.count)
            text += value[start..<min(start + step, value.count)] + [0x0A]
        }
        return text
    }

    private static func list(_ title: String, _ items: [String]) -> [UInt8] {
        var text = "\(title)\n"
        for item in items {
            var line = "  -"
            for word in item.split(separator: " ") {
                if line.count + 1 + word.count > columns {
                    text += line + "\n"
                    line = "   "
                }
                line += " " + word
            }
            text += line + "\n"
        }
        return Array(text.utf8)
    }

    private static func array(_ items: [String]) -> String {
        "[" + items.map { "\"\($0)\"" }.joined(separator: ",") + "]"
    }
}
