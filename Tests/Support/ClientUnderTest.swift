package import Foundation

/// A real profile of `reveille-client` in a directory of its own.
package final class ClientUnderTest: Sendable {
    package let directory: TemporaryDirectory

    package var state: String { directory.path + "/state" }

    /// - Parameters:
    ///   - feed: the feed's URL.
    ///   - key: the feed's public key, base64url.
    ///   - words: more for `init`, such as a service.
    package init(feed: String, key: String, _ words: String...) async throws {
        directory = try TemporaryDirectory()
        let made = try await RunningProgram.run(
            "reveille-client",
            ["init", "--feed", feed, "--key", key, "--state", directory.path + "/state"] + words)
        guard made.status == 0 else { throw TestFailure(made.output) }
    }

    /// The same profile once more, in a directory of its own.
    package func copy() throws -> ClientUnderTest {
        let copy = try TemporaryDirectory()
        try FileManager.default.copyItem(atPath: state, toPath: copy.path + "/state")
        return ClientUnderTest(in: copy)
    }

    private init(in directory: TemporaryDirectory) {
        self.directory = directory
    }

    /// A client of a service and of its feed.
    /// - Parameter url: the service's own unless a front stands before it.
    package convenience init(of service: ServiceUnderTest, at url: String? = nil) async throws {
        let url = url ?? service.url
        try await self.init(
            feed: url + "/feed/", key: service.feedKey, "--service", url)
    }

    /// Runs one command on this profile to its end.
    package func command(_ words: String..., input: [UInt8] = []) async throws -> (
        status: Int32, output: String
    ) {
        try await RunningProgram.run(
            "reveille-client", words + ["--state", state], input: input)
    }

    /// Starts one command on this profile.
    package func start(
        _ words: String..., input: [UInt8] = [], environment: [String: String] = [:]
    ) throws -> RunningProgram {
        try RunningProgram(
            "reveille-client", words + ["--state", state], input: input,
            environment: environment)
    }

    /// Starts `run` and waits until its event stream is open.
    package func listen(_ words: String...) async throws -> RunningProgram {
        let program = try RunningProgram(
            "reveille-client", ["run", "--verbose", "--state", state] + words)
        _ = try await program.line(containing: "stream connected")
        return program
    }

    /// Adds a new random secret.
    /// - Returns: the secret in hexadecimal, as publishers read it.
    package func addSecret(_ name: String) async throws -> String {
        let secret = TestDevice().pushText
        let added = try await command("secrets", "add", name, input: Array(secret.utf8))
        guard added.status == 0 else { throw TestFailure(added.output) }
        return secret
    }

    /// Registers the device's push token.
    /// - Returns: the exit status.
    package func register(_ device: TestDevice) async throws -> Int32 {
        try await command("register", "apns", input: Array(device.pushText.utf8)).status
    }

    /// The members of `status --json`.
    package func status(_ member: String) async throws -> String {
        let answer = try await command("status", "--json")
        guard answer.status == 0 else { throw TestFailure(answer.output) }
        guard let range = answer.output.range(of: "\"\(member)\":") else {
            throw TestFailure("no \(member) in \(answer.output)")
        }
        return String(answer.output[range.upperBound...].prefix { $0 != "," && $0 != "}" })
    }

    /// Waits until nothing is left to tell: a program that was run is noted a moment later.
    package func settled() async throws {
        while try await status("matchesToDeliver") != "0" {}
    }

    /// Every file of the profile, by path.
    package func files() throws -> [String: Data] {
        try FileSnapshot.files(below: directory.path)
    }

    /// The files that contain any of the needles, by path.
    package func files(containing needles: [[UInt8]]) throws -> [String] {
        FileSnapshot.names(of: try files(), containing: needles)
    }
}
