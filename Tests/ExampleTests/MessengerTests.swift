import Foundation
import TestSupport
import Testing

@Suite("A messenger with several accounts, the example", .timeLimit(.minutes(10)))
struct MessengerTests {
    /// A provider's server for one account: a mailbox, and its key.
    private struct Mailbox {
        let name: String
        let provider: ServiceUnderTest
        let key = TestDevice().instance
        let directory: String

        init(_ name: String, at provider: ServiceUnderTest, in place: TemporaryDirectory) throws {
            self.name = name
            self.provider = provider
            directory = place.path + "/" + name
            try FileManager.default.createDirectory(
                atPath: directory, withIntermediateDirectories: false)
        }

        /// A message arrives.
        func receive(_ text: String, count: Int) async throws {
            try text.write(toFile: "\(directory)/\(count)", atomically: true, encoding: .utf8)
            try await provider.publish(key, note: String(count))
        }

        var account: String {
            let key = Data(key).base64EncodedString()
            return """
                {"name": "\(name)", "feed": "\(provider.url)/feed/",
                "feedKey": "\(provider.feedKey)",
                "service": "\(provider.url)", "mailboxKey": "\(key)", "mailbox": "\(directory)"}
                """
        }
    }

    @Test("each account looks when there is something for it, and no other; a kill loses nothing")
    func accounts() async throws {
        let providers = [try await ServiceUnderTest(), try await ServiceUnderTest()]
        let place = try TemporaryDirectory()
        let home = try Mailbox("home", at: providers[0], in: place)
        let club = try Mailbox("club", at: providers[0], in: place)
        let work = try Mailbox("work", at: providers[1], in: place)
        let file = place.path + "/accounts.json"
        let accounts = [home, club, work].map(\.account).joined(separator: ",")
        try "[\(accounts)]".write(toFile: file, atomically: true, encoding: .utf8)
        let start = { try RunningProgram("example-messenger", [file, place.path + "/app"]) }

        let first = try start()
        try await home.receive("dinner is ready", count: 1)
        _ = try await first.line(containing: "home: dinner is ready")
        try await work.receive("the meeting is moved", count: 1)
        _ = try await first.line(containing: "work: the meeting is moved")
        try await home.receive("it gets cold", count: 2)
        _ = try await first.line(containing: "home: it gets cold")
        // A server that does not answer: it is killed while it looks.
        #expect(unsafe mkfifo(home.directory + "/3", 0o600) == 0)
        try await home.provider.publish(home.key, note: "3")
        let look = try await first.output { output in
            output.split(separator: "\n").first {
                $0.hasPrefix("home: look now ") && $0.hasSuffix(" 3")
            }.map(String.init)
        }
        first.signal(SIGKILL)
        _ = await first.exit()
        #expect(!first.output.contains("club: "), "\(first.output)")
        #expect(first.output.matches(of: /look now/).count == 4, "\(first.output)")

        try FileManager.default.removeItem(atPath: home.directory + "/3")
        try "well then".write(toFile: home.directory + "/3", atomically: true, encoding: .utf8)
        let second = try start()
        _ = try await second.line(containing: look)
        _ = try await second.line(containing: "home: well then")
        try await club.receive("we have a new member", count: 1)
        _ = try await second.line(containing: "club: we have a new member")
        second.signal(SIGTERM)
        _ = await second.exit()
        #expect(second.output.matches(of: /look now/).count == 2, "\(second.output)")
        // No batch has the same digest for the same key.
        let needle = [home.key, Array(home.key.map { String(format: "%02x", $0) }.joined().utf8)]
        #expect(try home.provider.files(containing: needle) == [])
    }
}
