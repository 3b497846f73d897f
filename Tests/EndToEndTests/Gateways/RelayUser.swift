import Foundation
import TestSupport
import WakeModel

/// A service without Apple's credentials whose push tokens a relay wakes: a mock of one, over TLS,
/// that was written from the protocol alone.
final class RelayUser {
    let service: ServiceUnderTest
    let mock: MockRelay
    private let keys: TemporaryDirectory

    // RFC 8032 §7.1, TEST 1.
    private static let seed = "nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A"
    static let publicKey = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"

    /// - Parameters:
    ///   - flags: of the mock.
    ///   - isAllowed: whether the relay knows the installation's key.
    init(_ flags: [String] = [], isAllowed: Bool = true) async throws {
        keys = try TemporaryDirectory()
        let key = try Self.writeKey(in: keys)
        let stranger = String(repeating: "A", count: 43)
        mock = try await MockRelay(
            ["--lifetime", "7200"] + flags,
            installations: [isAllowed ? Self.publicKey : stranger], isSecure: true)
        let authority = mock.certificateAuthority ?? ""
        service = try await ServiceUnderTest(
            sections: """

                [apns]
                via = \(mock.url)
                via-key = \(key)
                ca = \(authority)
                [broadcast]
                heartbeat = off

                """, serving: .nothing)
    }

    /// - Returns: its path.
    static func writeKey(in directory: TemporaryDirectory) throws -> String {
        let path = directory.path + "/relay.key"
        try "\(seed)\n".write(toFile: path, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        return path
    }

    func register(_ devices: [TestDevice]) throws {
        let client = try LoopbackClient(port: service.port)
        for device in devices {
            let answer = try client.exchange(
                "PUT", "/v1/registration", token: device.token, body: device.body)
            guard answer.status == 204 else { throw TestFailure("\(answer.status)") }
        }
    }

    /// Those of the devices that are still registered, in the order given.
    func registered(_ devices: [TestDevice]) throws -> [Bool] {
        let client = try LoopbackClient(port: service.port)
        return try devices.map { device in
            let answer = try client.exchange("GET", "/v1/registration", token: device.token)
            return try RegistrationResponse.decode(answer.body).stored != nil
        }
    }

    func broadcast() async throws -> (status: Int32, output: String) {
        try await service.command("broadcast", "--force")
    }
}
