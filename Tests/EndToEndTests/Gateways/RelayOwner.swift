import Foundation
import TestSupport
import WakeModel

/// Three real programs: a mock of APNs, the service of the app's owner, who alone has a key for it
/// and runs a relay, and a self-hosted installation without any.
final class RelayOwner {
    let mock: MockPush
    let owner: ServiceUnderTest
    /// Where the relay is, also while the owner's service is not.
    let place: WireServer
    private let keys: TemporaryDirectory
    private let authority: TestAuthority
    private let pair: SigningKeyPair

    // RFC 8032 §7.1, TEST 1.
    static let seed = "nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A"
    static let publicKey = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"

    // RFC 8032 §7.1, TEST 2: of another installation.
    static let otherSeed = "TM0Imyj_ltqdtsNG7BFOD1uKMZ81q6Yk2oz27U-4pvs"
    static let otherPublicKey = "PUAXw-hDiVqStwqnTRt-vJyYLM8uxJaMwM1V8Sr0Zgw"

    var address: String { "127.0.0.1:\(place.port)" }

    /// - Parameters:
    ///   - flags: of the mock.
    ///   - topic: what the owner sends; the mock expects `org.example.app`.
    ///   - relay: lines added to `[relay]`.
    init(_ flags: [String] = [], topic: String = "org.example.app", relay: String = "") async throws
    {
        keys = try TemporaryDirectory()
        authority = try TestAuthority()
        pair = try SigningKeyPair()
        place = try WireServer.reservedPort()
        let shown = try authority.issue(for: "localhost", days: 1)
        mock = try await MockPush(
            [
                "--certificate", shown.certificate, "--key", shown.key, "--public-key",
                pair.publicPath, "--key-id", "ABC123DEFG", "--team-id", "TEAM123456",
                "--topic", "org.example.app",
            ] + flags)
        let apns = pair.section(
            topic: topic, "host = localhost", "port = \(mock.port)",
            "ca = \(authority.certificate)")
        owner = try await ServiceUnderTest(
            listen: "127.0.0.1:\(place.port)",
            sections: """
                \(apns)
                [broadcast]
                heartbeat = off
                [relay]
                authority = 127.0.0.1:\(place.port)
                \(relay)

                """, serving: .nothing)
    }

    /// Allows an installation.
    func allow(_ key: String = publicKey, as name: String = "village") async throws {
        let (status, output) = try await owner.command("relay", "allow", name, key)
        guard status == 0 else { throw TestFailure(output) }
    }

    /// A self-hosted service whose push tokens of APNs go through the relay.
    /// - Parameter interval: seconds for which the push service keeps its wake-ups.
    func installation(
        _ seed: String = seed, interval: Int = 7200
    ) async throws -> ServiceUnderTest {
        let key = try Self.writeKey(seed, in: keys)
        return try await ServiceUnderTest(
            sections: """
                [apns]
                via = http://\(address)
                via-key = \(key)
                [broadcast]
                heartbeat = off
                interval-seconds = \(interval)

                """, serving: .nothing)
    }

    /// - Returns: its path.
    static func writeKey(_ seed: String = seed, in directory: TemporaryDirectory) throws -> String {
        let path = directory.path + "/relay-\(seed.prefix(4)).key"
        try "\(seed)\n".write(toFile: path, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        return path
    }

    /// Asks the relay's metrics.
    func metrics() throws -> String {
        let client = try LoopbackClient(path: owner.directory.path + "/service/admin.sock")
        return String(decoding: try client.exchange("GET", "/metrics").body, as: UTF8.self)
    }
}

extension ServiceUnderTest {
    /// Registers one after the other.
    func register(_ devices: [TestDevice]) throws {
        let client = try LoopbackClient(port: port)
        for device in devices {
            let answer = try client.exchange(
                "PUT", "/v1/registration", token: device.token, body: device.body)
            guard answer.status == 204 else { throw TestFailure("status \(answer.status)") }
        }
    }

    /// Which are registered still.
    func registered(_ devices: [TestDevice]) throws -> [Bool] {
        let client = try LoopbackClient(port: port)
        return try devices.map { device in
            let answer = try client.exchange("GET", "/v1/registration", token: device.token)
            return try RegistrationResponse.decode(answer.body).stored != nil
        }
    }
}
