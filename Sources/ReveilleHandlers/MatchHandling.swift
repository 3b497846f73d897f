/// The requirements of `MatchHandler`, whose documentation says when they are called.
///
/// They are declared here, in a module without `NonisolatedNonsendingByDefault`: a requirement that
/// has that isolation gives it to the methods that fulfil it, and a class of the main actor could
/// then reach none of its own properties in them.
public protocol MatchHandling<Match, Warning>: Sendable {
    /// A match, of the module `Reveille`.
    associatedtype Match: Sendable
    /// A warning, of the module `Reveille`.
    associatedtype Warning: Sendable

    /// Notifies the local user of a match. Returning means that the user was notified; after
    /// throwing, the match is delivered again in 1 minute to 6 hours.
    func didFind(_ match: Match) async throws

    /// Shows the local user a warning. Called once for each occasion.
    func didWarn(_ warning: Warning) async
}
