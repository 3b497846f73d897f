package import WakeModel
import WakePush
import WakeSystem

package enum Gateways {
    /// A push service that is served, or the reason why it is not.
    package struct State: Sendable, Equatable {
        package let service: PushService
        package let isOn: Bool
        package let summary: String
    }

    package static func states(_ configuration: Configuration) -> [State] {
        GatewaySection.all.flatMap { section in
            let summary = section.summary(configuration)
            let served = section.services(in: configuration)
            return section.services.map { service in
                if let summary, served.contains(service) {
                    return State(service: service, isOn: true, summary: "on, \(summary)")
                }
                let reason =
                    summary != nil
                    ? "not among the \(APNsEnvironments.key) of [\(section.name)]"
                    : configuration.sections[section.name] != nil
                        ? "section [\(section.name)] is empty" : "no section [\(section.name)]"
                let off = "off: \(reason); its push tokens are refused"
                return State(service: service, isOn: false, summary: off)
            }
        }
    }

    /// Connections that the configured gateways have open at most.
    package static func connections(_ configuration: Configuration) -> Int {
        GatewaySection.all.reduce(0) { $0 + $1.connections(configuration) }
    }

    /// The sections whose gateways cannot be made, by the first push service that they turn on.
    package static func faults(
        _ configuration: Configuration
    ) -> [(service: PushService, error: SetupError)] {
        GatewaySection.all.compactMap { section in
            do throws(SetupError) {
                _ = try section.make(configuration)
                return nil
            } catch { return section.services(in: configuration).first.map { ($0, error) } }
        }
    }
}

/// The gateways of every section, each with a hash of what it was made of.
struct GatewaySet: Sendable {
    private struct Part: Sendable {
        let section: GatewaySection
        /// nil: to be made again at the next reload.
        let origin: [UInt8]?
        let gateways: [any Gateway]
    }

    private var parts: [Part] = []

    var all: [any Gateway] { parts.flatMap(\.gateways) }

    init() {}

    /// Reads credentials and kept tokens; sends nothing.
    /// - Parameters:
    ///   - former: those in force. A section of the same values, with files of the same content,
    ///     keeps its own, and with them the tokens that they got.
    ///   - left: called with each push service that is done without, and the reason.
    /// - Throws: a section that cannot work; a missing one only leaves out its push services.
    init(
        _ configuration: Configuration, keeping former: GatewaySet = GatewaySet(),
        left: (PushService, SetupError) -> Void = { _, _ in }
    ) throws(SetupError) {
        for section in GatewaySection.all {
            let origin = Self.origin(of: section, configuration)
            if let kept = former.parts.first(where: { $0.section.name == section.name }),
                let origin, kept.origin == origin
            {
                parts.append(kept)
                continue
            }
            do throws(SetupError) {
                let gateways = try section.make(configuration)
                parts.append(Part(section: section, origin: origin, gateways: gateways))
            } catch {
                guard error.isOptional else { throw error }
                for service in section.services { left(service, error) }
                parts.append(Part(section: section, origin: nil, gateways: []))
            }
        }
    }

    /// The sections whose gateways are not those of `former`.
    func changes(since former: GatewaySet) -> [GatewaySection] {
        zip(parts, former.parts).filter { $0.origin == nil || $0.origin != $1.origin }
            .filter { !$0.gateways.isEmpty || !$1.gateways.isEmpty }.map(\.0.section)
    }

    /// A hash of the section's values and of the files that they name; nil when one cannot be read.
    private static func origin(
        of section: GatewaySection, _ configuration: Configuration
    ) -> [UInt8]? {
        let hash = Blake2b()
        for (key, value) in (configuration.sections[section.name] ?? [:]).sorted(by: { $0 < $1 }) {
            let words = Array("\(key)=\(value)\n".utf8)
            hash.update(words.span)
            guard ConfigurationParser.paths.contains(key) else { continue }
            guard var file = try? Files.readLinked(value, limit: 1 << 20) else { return nil }
            defer { file.wipe() }
            let content = Blake2b.hash(file.span)
            hash.update(content.span)
        }
        return hash.finish()
    }
}

/// The push tokens that may be registered: those that this installation can wake.
struct Admission: Sendable {
    private var services: UInt8 = 0
    /// Whose apps are woken by topics alone.
    private var unneeded: UInt8 = 0
    /// The only one that looks at the push token itself: its endpoints name hosts.
    private var webPush: (any Gateway)?
    /// What apps subscribe with (`applicationServerKey`), base64url; nil: Web Push is off.
    private(set) var webPushKey: String?

    init(_ gateways: [any Gateway]) {
        for gateway in gateways {
            let bit: UInt8 = 1 << gateway.service.rawValue
            if gateway.wakesTokens { services |= bit } else { unneeded |= bit }
            guard gateway.service == .webPush else { continue }
            webPush = gateway
            webPushKey = (gateway as? WebPushGateway)?.publicKey
        }
    }

    /// The reason to refuse a push token; nil when it is accepted.
    func problem(with token: PushToken) -> Problem? {
        let bit: UInt8 = 1 << token.service.rawValue
        guard services & bit != 0 else { return unneeded & bit == 0 ? .serviceOff : .notNeeded }
        guard token.service == .webPush, let webPush else { return nil }
        switch webPush.refusal(of: token) {
        case nil: return nil
        case .hostNotAllowed: return .pushHostNotAllowed
        case .subjectMissing: return .pushSubjectMissing
        case .keyMalformed, .spellingForeign: return .pushTokenMalformed
        }
    }
}
