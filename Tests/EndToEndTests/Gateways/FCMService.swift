import Foundation
import TestSupport
import WakeModel

/// A service whose only gateway is one of FCM that leads to a mock over TLS.
final class FCMService {
    let service: ServiceUnderTest
    let mock: MockFCM

    /// - Parameters:
    ///   - flags: of the mock.
    ///   - lines: more of the section.
    init(_ flags: [String] = [], lines: String = "") async throws {
        mock = try await MockFCM(flags)
        service = try await ServiceUnderTest(
            sections: "\n\(mock.section)\(lines)\n[broadcast]\nheartbeat = off\n", serving: .nothing
        )
    }

    /// Registers push tokens, each under an instance token of its own.
    /// - Returns: the instance tokens, in order.
    @discardableResult
    func register(_ tokens: [String]) throws -> [String] {
        let client = try LoopbackClient(port: service.port)
        return try tokens.map { token in
            let device = TestDevice()
            let answer = try client.exchange(
                "PUT", "/v1/registration", token: device.token,
                body: Array(#"{"service":"fcm","token":"\#(token)"}"#.utf8))
            guard answer.status == 204 else { throw TestFailure("\(answer.status)") }
            return device.token
        }
    }

    /// Whether each is still registered.
    func registered(_ instances: [String]) throws -> [Bool] {
        let client = try LoopbackClient(port: service.port)
        return try instances.map { token in
            let answer = try client.exchange("GET", "/v1/registration", token: token)
            return try RegistrationResponse.decode(answer.body).stored != nil
        }
    }

    func broadcast() async throws -> (status: Int32, output: String) {
        try await service.command("broadcast", "--force")
    }

    /// The round that runs, or the last one.
    func progress() throws -> PushingService.Progress {
        let client = try LoopbackClient(path: service.directory.path + "/service/admin.sock")
        let answer = try client.exchange("GET", "/v1/broadcast")
        return try JSONDecoder().decode(PushingService.Progress.self, from: Data(answer.body))
    }

    /// Push tokens as FCM issues them: 142 characters.
    static func tokens(_ count: Int, prefix: String = "") -> [String] {
        (0..<count).map { _ in
            let random = (0..<142 - prefix.utf8.count).map { _ in
                "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_:".randomElement()
            }
            return prefix + String(random.compactMap { $0 })
        }
    }
}
