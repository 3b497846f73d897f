import Foundation
import Reveille

/// An account with a provider, who holds its mailbox and publishes a feed.
struct Account: Decodable, Sendable {
    let name: String
    /// The provider's feed, one of its keys, and its service.
    let feed: String
    let feedKey: String
    let service: String
    /// 32 random bytes that app and provider agreed on when the account was made: whoever has
    /// them is told, and nobody else can recognise it in the feed.
    let mailboxKey: Data
    /// A directory with a file for each new message. It stands for the provider's server.
    let mailbox: String

    /// Looks into the mailbox whenever the feed says so, until the task is cancelled.
    /// - Parameter directory: of the app; each account has its own in it.
    func watch(in directory: String) async throws {
        let place = "\(directory)/\(name)"
        let configuration = ClientConfiguration(
            feed: feed, feedKey: feedKey, service: service, channel: .stream,
            stateDirectory: place + "/state", cacheDirectory: place + "/cache")
        let secrets = SecretDirectory(stateDirectory: configuration.stateDirectory)
        try secrets.add(Array(mailboxKey), named: name)
        let client = try WakeClient(
            configuration, secrets: secrets,
            onMatch: { match in
                say("\(name): look now \(match.id.text) \(match.note ?? "")")
                // When it throws, the same match comes again, in a minute to six hours.
                try look()
            },
            onWarning: { say("\(name): \($0)") })
        try await client.run()
    }

    /// Shows and fetches all that is new: of how much there is, and of whom, the match says
    /// nothing.
    private func look() throws {
        for file in try FileManager.default.contentsOfDirectory(atPath: mailbox).sorted() {
            let path = mailbox + "/" + file
            say("\(name): \(try String(contentsOfFile: path, encoding: .utf8))")
            try FileManager.default.removeItem(atPath: path)
        }
    }
}
