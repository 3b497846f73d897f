private import WakeFiles
import WakeModel
import WakePush

/// Whether a configuration passes on the wake-ups of installations, for `reveille check`.
package struct RelayState: Sendable, Equatable {
    /// In a line, without secrets.
    package let words: String
    /// What keeps the relay from letting anybody through.
    package let problem: String?

    package init(_ configuration: Configuration) {
        guard let settings = configuration.relay else {
            (words, problem) = ("off", nil)
            return
        }
        var count = "no installation"
        var problem: String?
        do throws(InstallationFileError) {
            let entries = try InstallationList(path: settings.installations).entries.count
            if entries > 0 { count = entries == 1 ? "1 installation" : "\(entries) installations" }
        } catch {
            count = "nobody is let through"
            problem = "\(settings.installations): \(error.words)"
        }
        self.problem = problem
        words =
            "on, as \(settings.authority), \(count), \(settings.wakesPerMinute) wake-ups a minute "
            + "each, for \(Self.services(configuration))"
    }

    /// Those that this service wakes by itself, and not through a relay in its turn.
    private static func services(_ configuration: Configuration) -> String {
        let relayed = GatewaySection.all
            .filter { configuration.gatewaySections[$0.name]?["via"] != nil }
            .flatMap(\.services)
        let words = Gateways.states(configuration)
            .filter { $0.isOn && RelayBatch.services.contains($0.service) }
            .filter { !relayed.contains($0.service) }
            .map { $0.service.word.description }
        return words.isEmpty ? "no push service" : words.joined(separator: ", ")
    }
}

extension InstallationFileError {
    /// In a line.
    fileprivate var words: String {
        switch self {
        case .file(let error) where error.isNotPermitted: "cannot be read, or others can write it"
        case .file(let error): error.reason
        case .list(let error): error.message
        case .busy, .change: "it is being changed"
        }
    }
}
