import Dispatch
import Foundation
import Synchronization
import TestSupport
import WakeModel

@testable import WakePush

/// Where access tokens are given out: answers each exchange as it is told, and keeps what came.
final class FCMTokenServer: Sendable {
    private let server: WireServer
    private let seen: Observed<[WireRequest]>

    /// - Parameter answer: status and body by the number of the exchange, from 1 on.
    init(
        _ answer: @escaping @Sendable (Int) -> (Int, String) = { FCMTokenServer.token($0) }
    ) throws {
        let seen = Observed<[WireRequest]>([])
        self.seen = seen
        server = try WireServer { peer in
            while let request = WireRequest(from: peer) {
                let number = seen.update { requests in
                    requests.append(request)
                    return requests.count
                }
                let (status, body) = answer(number)
                let head =
                    "HTTP/1.1 \(status) X\r\nContent-Type: application/json\r\n"
                    + "Content-Length: \(body.utf8.count)\r\n\r\n"
                guard (try? peer.send(head + body)) != nil else { return }
            }
        }
    }

    var uri: String { "\(server.url)/token" }
    var requests: [WireRequest] { seen.value }

    func stop() { server.refuse() }

    /// `token-N`, good for an hour.
    static func token(_ number: Int) -> (Int, String) {
        (
            200,
            #"{"access_token":"token-\#(number)","expires_in":3599,"token_type":"Bearer"}"#
        )
    }
}

/// A gateway to servers on loopback, with what its round reported and a timer for its time.
final class FCMRoundUnderTest {
    let reports = Observed<[GatewayReport]>([])
    let account: FCMAccount
    let round: any GatewayRound
    private let timer: any DispatchSourceTimer
    private let file: FCMServiceAccount

    /// - Parameter ticks: whether time passes for the round.
    init(_ service: EngineServer, _ tokens: FCMTokenServer, ticks: Bool = true) throws {
        file = try FCMServiceAccount(tokenURI: tokens.uri)
        let section = [
            "key": file.file, "host": "127.0.0.1", "port": "\(service.port)", "plain": "on",
        ]
        guard let configuration = try FCMConfiguration(section: section) else {
            throw TestFailure("a section is a configuration")
        }
        account = try FCMAccount(try configuration.credentials())
        let gateway = FCMGateway(configuration, account: account)
        let round = gateway.open(lifetime: 7200) { [reports] report in
            reports.update { $0.append(report) }
        }
        self.round = round
        timer = DispatchSource.makeTimerSource()
        timer.schedule(deadline: .now(), repeating: .milliseconds(50))
        timer.setEventHandler { [weak round] in if ticks { round?.tick() } }
        timer.resume()
    }

    deinit {
        timer.cancel()
        round.stop()
    }

    var failure: GatewayFailure? { Self.failure(reports.value) }

    /// Waits until so many are settled, or the gateway has failed.
    func settled(_ count: Int) async throws -> [Int: Delivery] {
        try await reports.first { reports in
            let settled = reports.flatMap { report -> [SettledWakeUp] in
                if case .settled(let wakeUps) = report { wakeUps } else { [] }
            }
            guard settled.count >= count || Self.failure(reports) != nil else { return nil }
            return Dictionary(uniqueKeysWithValues: settled.map { ($0.reference, $0.delivery) })
        }
    }

    private static func failure(_ reports: [GatewayReport]) -> GatewayFailure? {
        for case .failed(let failure) in reports { return failure }
        return nil
    }

    /// Wake-ups to push tokens that are their numbers, with what JSON must escape.
    static func wakeUps(_ references: Range<Int>) throws -> [WakeUp] {
        try references.map {
            WakeUp(
                reference: $0,
                token: try PushToken(service: .fcm, bytes: Array(#"t"\:\#($0)"#.utf8)))
        }
    }

    /// The number of the push token in the body of a request; nil unless it is the one request.
    static func number(_ body: [UInt8]) -> Int? {
        let object = try? JSONSerialization.jsonObject(with: Data(body)) as? NSDictionary
        let message = object?["message"] as? NSDictionary
        let rest: NSDictionary = ["priority": "NORMAL", "ttl": "7200s", "collapse_key": "wake"]
        guard let message, message.count == 3, message["android"] as? NSDictionary == rest,
            message["data"] as? NSDictionary == ["wake": "1"] as NSDictionary,
            let token = message["token"] as? String, token.hasPrefix(#"t"\:"#)
        else { return nil }
        return Int(token.dropFirst(4))
    }
}
