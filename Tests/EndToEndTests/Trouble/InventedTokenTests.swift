import Foundation
import TestSupport
import Testing

/// A few people among push tokens that somebody made up, by the built programs and peers that are
/// not ours.
@Suite(
    "Thirty people among invented push tokens", .timeLimit(.minutes(20)),
    .enabled(if: PushPeer.isInstalled, "needs python3 with h2 (PyPI) and curl"),
    .enabled(if: OpenSSLCommand.isInstalled, "needs the openssl command"))
struct InventedTokenTests {
    private static let people = 30
    /// Of each push service; 100,000 with `REVEILLE_LONG=1`.
    private static let invented =
        ProcessInfo.processInfo.environment["REVEILLE_LONG"] == nil ? 300 : 100_000
    private static let host = "updates.push.services.mozilla.com"

    @Test("are woken by each of three broadcasts, and the invented ones leave once believed")
    func invented() async throws {
        let web = try await WebPushPeer([Self.host])
        let place = try await PushedService(sections: web.section)
        let people = (0..<Self.people).flatMap { number in
            [
                PushedToken(apns: "11"), PushedToken(fcm: "good\(number)"),
                PushedToken(endpoint: "https://\(Self.host)/p/\(number)"),
            ]
        }
        let invented = (0..<Self.invented).flatMap { number in
            [
                PushedToken(apns: "ee"), PushedToken(fcm: "bad\(number)"),
                PushedToken(endpoint: "https://\(Self.host)/invented/\(number)"),
            ]
        }
        try PushedToken.register(people + invented, place.service)
        for round in 1...3 {
            let (status, output) = try await place.broadcast()
            // So many are an alarm, which two broadcasts in a row with people settle.
            #expect(status == (round < 3 ? 1 : 0), "\(output)")
            let left = try PushedToken.count(invented, place.service)
            #expect(left == (round < 3 ? invented.count : 0))
            for peer in [place.apns, place.fcm, web.peer] {
                let report = try await peer.report()
                #expect(report.woken == Self.people && report.least == round, "\(output)")
                #expect(report.most == round, "\(output)")
            }
        }
        #expect(try PushedToken.count(people, place.service) == people.count)
    }
}

/// A peer that is every host of Web Push at once, by TLS.
struct WebPushPeer {
    let peer: PushPeer
    private let authority: TestAuthority
    private let pair: SigningKeyPair
    private let hosts: [String]

    init(_ hosts: [String]) async throws {
        self.hosts = hosts
        authority = try TestAuthority()
        pair = try SigningKeyPair()
        let identity = try authority.issue(for: hosts[0], also: Array(hosts.dropFirst()))
        peer = try await PushPeer(.webpush, identity: identity)
    }

    /// The section that leads a service here, whatever the names resolve to.
    var section: String {
        """

        [webpush]
        key = \(pair.privatePath)
        hosts = \(hosts.joined(separator: ", "))
        connect = 127.0.0.1:\(peer.port)
        ca = \(authority.certificate)
        subject = mailto:push@example.org

        """
    }
}
