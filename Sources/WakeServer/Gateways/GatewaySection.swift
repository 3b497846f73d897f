import WakeModel
import WakePush

/// One section of the configuration that turns push services on: what may stand in it, and the
/// gateways that come of it. A new gateway is one more of these.
struct GatewaySection: Sendable {
    /// As it stands in brackets.
    let name: String
    /// Whose push tokens its gateways wake.
    let services: [PushService]
    /// Its keys, with what they take.
    let words: [(key: String, takes: String)]
    /// Those that take a path, which is relative to the file.
    var paths: Set<String> = ["key", "ca", "via-key"]

    /// Sets what the section's keys and values say, paths made absolute already; no keys: nothing.
    let read:
        @Sendable (_ section: [String: String], inout Configuration)
            throws(GatewaySectionFault) -> Void
    /// What it comes to, in a few words without secrets; nil when it is off.
    let summary: @Sendable (Configuration) -> String?
    /// How fast its gateways are, without making them; empty when it is off.
    let limits: @Sendable (Configuration) -> [GatewayLimits]
    /// Reads credentials and kept tokens and sends nothing; empty when it is off.
    let make: @Sendable (Configuration) throws(GatewayError) -> [any Gateway]

    /// Every section that makes gateways.
    static let all: [GatewaySection] = [apns, fcm, webPush]

    static func named(_ name: String) -> GatewaySection? { all.first { $0.name == name } }
}

extension GatewaySection {
    /// Words a mistake in the section for the operator.
    func message(_ fault: GatewaySectionFault) -> String {
        fault.message(section: name, words: words)
    }
}

/// Why a gateway cannot be made. Two lines: what is wrong, and what to do.
package struct GatewayError: Error, Sendable, Equatable {
    package let message: String
    /// A library of the system is missing or unfit: nothing in the configuration is wrong, and the
    /// service does without this gateway.
    package var isOptional = false
}

extension GatewayReach {
    /// What `check` says of it: nothing of what goes without saying.
    var words: String {
        "connections \(connections)" + (host.map { ", at \($0)" } ?? "")
    }

    /// - Parameter section: for messages.
    func checkAuthorities(of section: String) throws(GatewayError) {
        do throws(PushEngineError) {
            try checkAuthorities()
        } catch {
            let place = error == .authorityFile ? "ca: " : ""
            throw GatewayError(message: "[\(section)] \(place)\(error.words)")
        }
    }
}
