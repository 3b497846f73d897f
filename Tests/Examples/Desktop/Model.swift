import Foundation
import Reveille

/// What the window shows. It lives on the main actor, as widgets do.
@MainActor final class Model {
    /// Matches that a person has not dismissed yet, the oldest first.
    private(set) var notices: [Notice] = []
    private(set) var warnings: [Warning] = []
    private(set) var status: ClientStatus?
    /// Draws the window again.
    var onChange: () -> Void = {}

    private let file: URL

    /// A match as this app keeps it.
    struct Notice: Codable, Identifiable, Equatable {
        /// The match's: a match that is delivered again is shown once.
        let id: String
        let secret: String
        let text: String
    }

    /// - Parameter file: keeps the notices, for its owner alone.
    init(file: URL) throws {
        self.file = file
        guard FileManager.default.fileExists(atPath: file.path) else { return }
        notices = try JSONDecoder().decode([Notice].self, from: Data(contentsOf: file))
    }

    /// Shows what comes until the task is cancelled.
    func show(_ events: AsyncStream<ClientEvent>) async {
        for await event in events {
            switch event {
            case .match(let delivery):
                // First kept, then acknowledged: a crash in between shows it twice, never not.
                if (try? keep(delivery.match)) != nil { await delivery.acknowledge() }
            case .warning(let warning): warnings.append(warning)
            case .status(let status): self.status = status
            }
            onChange()
        }
    }

    private func keep(_ match: Match) throws {
        guard !notices.contains(where: { $0.id == match.id.text }) else { return }
        let notice = Notice(id: match.id.text, secret: match.secretID, text: match.note ?? "")
        try write(notices + [notice])
    }

    /// A person has read it.
    func dismiss(_ id: Notice.ID) throws {
        try write(notices.filter { $0.id != id })
        onChange()
    }

    private func write(_ notices: [Notice]) throws {
        let data = try JSONEncoder().encode(notices)
        try data.write(to: file, options: .atomic)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
        self.notices = notices
    }
}
