import Foundation
import ReveillePhone

/// An app of a phone that tests kill: `STATE FEED KEY SERVICE SECRET…`, the secrets in hexadecimal.
/// It registers, runs one cycle, says each match before it acknowledges it, and ends.
@main
enum PhoneWorker {
    static func main() async {
        let words = Array(CommandLine.arguments.dropFirst())
        guard words.count >= 4, let feed = URL(string: words[1]),
            let service = URL(string: words[3])
        else { exit(2) }
        say("began")
        do throws(PhoneError) {
            let client = try PhoneClient(
                PhoneConfiguration(
                    feed: feed, feedKey: words[2], service: service,
                    stateDirectory: URL(fileURLWithPath: words[0])))
            try await client.register(.apns(Data(repeating: 7, count: 32)))
            let secrets = Dictionary(
                uniqueKeysWithValues: words[4...].map { ($0, Self.bytes($0)) })
            let result = await client.cycle(secrets: secrets)
            for match in result.matches {
                say("match \(match.id)")
                try await client.acknowledge(match.id)
                say("acknowledged \(match.id)")
            }
            say("ended \(result.failure?.code ?? "-")")
        } catch {
            say("failed \(error.code)")
            exit(1)
        }
    }

    /// At once: a kill comes at any moment.
    private static func say(_ line: String) {
        FileHandle.standardOutput.write(Data((line + "\n").utf8))
    }

    private static func bytes(_ hex: String) -> Data {
        let digits = hex.utf8.map { UInt8($0 < 58 ? $0 - 48 : $0 - 87) }
        return Data(
            stride(from: 0, to: digits.count - 1, by: 2).map { digits[$0] << 4 | digits[$0 + 1] })
    }
}
