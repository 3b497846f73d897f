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

/// A session of the gateway to servers on loopback.
final class FCMSessionUnderTest: SessionUnderTest {
    let account: FCMTokenProvider
    private let file: ServiceAccountFile

    /// - Parameter ticks: whether time passes.
    init(_ service: EngineServer, _ tokens: FCMTokenServer, ticks: Bool = true) throws {
        file = try ServiceAccountFile(tokenURI: tokens.uri)
        let section = [
            "key": file.file, "host": "127.0.0.1", "port": "\(service.port)", "plain": "on",
        ]
        guard let configuration = try FCMConfiguration(section: section) else {
            throw TestFailure("a section is a configuration")
        }
        account = try FCMTokenProvider(try configuration.credentials())
        super.init(FCMGateway(configuration, tokens: account), ticks: ticks)
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

extension ServiceAccountFile {
    func credentials() throws -> FCMCredentials { try FCMCredentials(file: file) }
}
