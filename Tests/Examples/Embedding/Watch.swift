import Reveille

/// Watches a feed for the secrets below `directory`, until its task is cancelled.
func watch(feed: String, key: String, service: String, in directory: String) async throws {
    let configuration = ClientConfiguration(
        feed: feed, feedKey: key, service: service, channel: .stream,
        stateDirectory: directory + "/state", cacheDirectory: directory + "/cache")
    let secrets = SecretDirectory(stateDirectory: configuration.stateDirectory)
    let client = try WakeClient(configuration, secrets: secrets) { match in
        print("this concerns you: \(match.secretID)")
    } onWarning: { warning in
        print("warning: \(warning)")
    }
    try await client.run()
}
