import Reveille

/// Prints matches and warnings to the terminal.
struct Terminal: MatchHandler {
    func handle(_ match: Match) { print("this concerns you: \(match.secretID)") }
    func handle(_ warning: Warning) { print("warning: \(warning.code)") }
}

/// Watches a feed for the secrets below `directory`, until its task is cancelled.
func watch(feed: String, key: String, service: String, in directory: String) async throws {
    let configuration = ClientConfiguration(
        feed: feed, feedKey: key, service: service, channel: .stream,
        stateDirectory: directory + "/state", cacheDirectory: directory + "/cache")
    let secrets = SecretDirectory(stateDirectory: configuration.stateDirectory)
    let client = try WakeClient(configuration, secrets: secrets, handler: Terminal())
    try await client.run()
}
