package import Foundation
private import WakeModel
private import WakeSystem

/// A service whose gateway for APNs leads to a mock over TLS, both with keys and certificates made
/// for this one test.
package final class PushingService {
    /// What is not as it should be; everything is, by default.
    package struct Choices: Sendable {
        /// Of the mock.
        package var flags: [String] = []
        // What the service is told, where the mock expects the defaults.
        package var keyID = "ABC123DEFG"
        package var teamID = "TEAM123456"
        package var topic = "org.example.app"
        // What the mock shows and expects.
        package var certificateName = "localhost"
        package var certificateDays = 1
        package var isAuthorityForeign = false
        package var isKeyForeign = false
        /// More of the service's configuration.
        package var sections = ""

        package init(_ flags: String...) { self.flags = flags }

        package init(_ held: HeldAnswers, _ flags: String...) { self.flags = held.flags + flags }
    }

    package let service: ServiceUnderTest
    package let mock: MockPush
    package let pair: SigningKeyPair
    private let authority: TestAuthority
    private let foreignAuthority: TestAuthority

    package init(_ choices: Choices = Choices()) async throws {
        authority = try TestAuthority()
        foreignAuthority = choices.isAuthorityForeign ? try TestAuthority() : authority
        pair = try SigningKeyPair()
        let expected = choices.isKeyForeign ? try SigningKeyPair() : pair
        let shown = try authority.issue(
            for: choices.certificateName, days: choices.certificateDays)
        mock = try await MockPush(
            [
                "--certificate", shown.certificate, "--key", shown.key, "--public-key",
                expected.publicPath, "--key-id", "ABC123DEFG", "--team-id", "TEAM123456",
                "--topic", "org.example.app",
            ] + choices.flags)
        service = try await ServiceUnderTest(
            sections: """
                [apns]
                key = \(pair.privatePath)
                key-id = \(choices.keyID)
                team-id = \(choices.teamID)
                topic = \(choices.topic)
                host = localhost
                port = \(mock.port)
                ca = \(foreignAuthority.certificate)
                [broadcast]
                heartbeat = off

                """ + choices.sections, serving: .nothing)
    }

    /// Runs `reveille broadcast --force` to its end.
    package func broadcast(_ words: String...) async throws -> (status: Int32, output: String) {
        try await startBroadcast(words).finished()
    }

    /// Starts `reveille broadcast --force`.
    package func startBroadcast(_ words: [String] = []) throws -> RunningProgram {
        try RunningProgram(
            "reveille", ["broadcast", "--force", "--config", service.configuration] + words)
    }

    // MARK: Registrations

    package func register(_ devices: [TestDevice]) throws {
        try LoopbackClient.exchange(
            "PUT", registrations: devices.map { ($0.token, $0.body) }, port: service.port
        ) { answer in
            guard answer.status == 204 else { throw TestFailure("PUT: \(answer.status)") }
        }
    }

    /// Those of the devices that are still registered, in the order given.
    package func registered(_ devices: [TestDevice]) throws -> [Bool] {
        var found: [Bool] = []
        try LoopbackClient.exchange(
            "GET", registrations: devices.map { ($0.token, []) }, port: service.port
        ) { answer in
            found.append(try RegistrationResponse.decode(answer.body).stored != nil)
        }
        return found
    }

    /// The databases and what belongs to them, byte by byte, but for the two counts of changes in
    /// each header (fileformat2.html §1.3). A delete comes before: with its answer the logs are
    /// empty. Moves are settled within half a second.
    package func tables() throws -> [String: Data] {
        while try Self.hasMoves(filesAfterDelete()) {}
        // Those above may be of before and after the moves were settled.
        var files = try filesAfterDelete()
        for database in files.keys where database.hasSuffix(".db") {
            for count in [24..<28, 92..<96] {
                files[database]?.replaceSubrange(count, with: [0, 0, 0, 0])
            }
        }
        return files
    }

    private func filesAfterDelete() throws -> [String: Data] {
        let client = try LoopbackClient(port: service.port)
        let token = TestDevice().token
        let answer = try client.exchange("DELETE", "/v1/registration", token: token)
        guard answer.status == 204 else { throw TestFailure("DELETE: \(answer.status)") }
        return try service.files().filter { $0.key.hasPrefix("data/generation-") }
    }

    private static func hasMoves(_ files: [String: Data]) throws -> Bool {
        let copy = try TemporaryDirectory()
        return try files.filter { $0.key.hasSuffix(".db") }.contains { name, bytes in
            let path = copy.path + "/" + name.dropFirst("data/".count)
            try bytes.write(to: URL(filePath: path))
            let database = try Database(path: path, access: .readWrite)
            return try database.integer("SELECT count(*) FROM moved") != 0
        }
    }

    // MARK: The round

    /// The round that runs, or the last one, as the admin socket tells it.
    package struct Round: Decodable, Sendable {
        package let running: Bool
        package let run: Int
        package let complete: Bool
        package let rows: Int
        package let accepted: Int
        package let gone: Int
    }

    package func round() throws -> Round {
        let client = try LoopbackClient(path: service.directory.path + "/service/admin.sock")
        let answer = try client.exchange("GET", "/v1/broadcast")
        return try JSONDecoder().decode(Round.self, from: Data(answer.body))
    }

    /// Asks again and again until the round is as wanted; each answer is waited for.
    package func round(where isWanted: (Round) -> Bool) async throws -> Round {
        while true {
            let round = try round()
            if isWanted(round) { return round }
            try Task.checkCancellation()
            await Task.yield()
        }
    }
}

extension RunningProgram {
    /// Waits for the end.
    /// - Returns: exit status and everything it said.
    package func finished() async -> (status: Int32, output: String) {
        let status = await exit()
        return (status, output)
    }
}
