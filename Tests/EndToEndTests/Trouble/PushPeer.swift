import Foundation
import TestSupport
import WakeModel

/// A push service by PyPI's h2 that shares not a line with ours, and the habits of one in trouble;
/// see `Tests/PushPeer/peer.py`.
struct PushPeer {
    enum Kind: String {
        case apns, fcm, webpush
    }

    /// Counts of what came.
    struct Report: Decodable {
        let requests: Int
        /// Push tokens that had a push.
        let woken: Int
        /// Pushes of one push token that its device may have felt; the least of those above.
        let most: Int
        let least: Int
        let connections: Int
        let atOnce: Int
        let statuses: [String: Int]
    }

    /// Why tests that need it are skipped.
    static let isInstalled =
        PythonScript.has("h2.connection") && InstalledPrograms.path("curl") != nil

    let port: Int
    let controlPort: Int
    private let program: RunningProgram

    /// - Parameter identity: a certificate and its key, as PEM files; nil: without TLS.
    init(_ kind: Kind, identity: (certificate: String, key: String)? = nil) async throws {
        var words = ["python3", Repository.absolute("Tests/PushPeer/peer.py"), kind.rawValue]
        if let identity { words += ["--certificate", identity.certificate, "--key", identity.key] }
        program = try RunningProgram(path: "/usr/bin/env", words)
        let ports = try await program.line(containing: "ports ").split(separator: " ")
        guard ports.count == 3, let port = Int(ports[1]), let control = Int(ports[2]) else {
            throw TestFailure("no ports")
        }
        (self.port, controlPort) = (port, control)
    }

    /// Sets the habit of what comes after a number of good answers; `none` is a good service.
    func set(_ habit: String, _ value: Double = 0, after answers: Int = 0) async throws {
        _ = try await report("habit/\(habit)/\(value)/\(answers)")
    }

    func report() async throws -> Report { try await report("report") }

    /// Waits until this number of push tokens have had a push.
    @discardableResult
    func report(woken: Int) async throws -> Report { try await report("woken/\(woken)") }

    private func report(_ path: String) async throws -> Report {
        let url = "http://127.0.0.1:\(controlPort)/\(path)"
        let (status, output) = try await RunningProgram.run(
            path: "/usr/bin/env", ["curl", "--silent", "--fail", "--noproxy", "*", url])
        guard status == 0 else { throw TestFailure("\(path): \(status) \(output)") }
        return try JSONDecoder().decode(Report.self, from: Data(output.utf8))
    }
}

/// A service whose gateways lead to peers, and what is registered with it.
final class PushedService {
    let service: ServiceUnderTest
    let apns: PushPeer
    let fcm: PushPeer
    private let pair: SigningKeyPair

    /// - Parameter sections: more of the configuration.
    init(sections: String = "") async throws {
        (apns, fcm) = (try await PushPeer(.apns), try await PushPeer(.fcm))
        pair = try SigningKeyPair()
        service = try await ServiceUnderTest(
            sections: Self.apns(apns, pair) + """
                [fcm]
                project = p
                credentials = metadata
                host = 127.0.0.1
                port = \(fcm.port)
                plain = on
                [broadcast]
                heartbeat = off

                """ + sections, serving: .nothing,
            environment: ["GCE_METADATA_HOST": "127.0.0.1:\(fcm.controlPort)"])
    }

    /// The section that leads a service to a peer.
    static func apns(_ peer: PushPeer, _ pair: SigningKeyPair) -> String {
        pair.section(
            "host = 127.0.0.1", "port = \(peer.port)", "plain = on", "environments = production")
    }

    func broadcast() async throws -> (status: Int32, output: String) {
        try await service.command("broadcast", "--force")
    }
}

/// The member `service` of a registration's body, and its push token.
struct PushedToken {
    let instance = TestDevice().token
    let body: [UInt8]

    init(fcm token: String) { body = Array(#"{"service":"fcm","token":"\#(token)"}"#.utf8) }

    init(endpoint: String) {
        body = Array(#"{"service":"webpush","endpoint":"\#(endpoint)"}"#.utf8)
    }

    /// - Parameter prefix: hexadecimal digits that it begins with.
    init(apns prefix: String) {
        let digits = TestDevice().pushText.dropFirst(prefix.count)
        body = Array(#"{"service":"apns","token":"\#(prefix)\#(digits)"}"#.utf8)
    }

    static func register(_ tokens: [PushedToken], _ service: ServiceUnderTest) throws {
        try LoopbackClient.exchange(
            "PUT", registrations: tokens.map { ($0.instance, $0.body) }, port: service.port
        ) { answer in
            guard answer.status == 204 else { throw TestFailure(answer.text) }
        }
    }

    /// How many are registered still.
    static func count(_ tokens: [PushedToken], _ service: ServiceUnderTest) throws -> Int {
        var found = 0
        try LoopbackClient.exchange(
            "GET", registrations: tokens.map { ($0.instance, []) }, port: service.port
        ) { answer in
            if try RegistrationResponse.decode(answer.body).stored != nil { found += 1 }
        }
        return found
    }
}
