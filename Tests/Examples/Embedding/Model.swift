import Reveille

/// A handler as an app with a window writes it: no annotation but that of the class.
@MainActor final class Model: MatchHandler {
    private(set) var matches: [Match] = []
    private(set) var warning: Warning?

    func didFind(_ match: Match) async throws { matches.append(match) }
    func didWarn(_ warning: Warning) async { self.warning = warning }
}

/// The same without suspension.
@MainActor final class PlainModel: MatchHandler {
    private(set) var matches: [Match] = []
    private(set) var warning: Warning?

    func didFind(_ match: Match) { matches.append(match) }
    func didWarn(_ warning: Warning) { self.warning = warning }
}
