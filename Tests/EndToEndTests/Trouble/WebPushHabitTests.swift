import TestSupport
import Testing

/// Hosts with the answers of their makers, by the built programs and a peer that is not ours.
@Suite(
    "Web Push at hosts of a peer that is not ours", .timeLimit(.minutes(5)),
    .enabled(if: PushPeer.isInstalled, "needs python3 with h2 (PyPI) and curl"),
    .enabled(if: OpenSSLCommand.isInstalled, "needs the openssl command"))
struct WebPushHabitTests {
    private static let apple = "web.push.apple.com"
    private static let edge = "wns2-par02p.notify.windows.com"
    private static let google = "fcm.googleapis.com"
    private static let ntfy = "ntfy.example.org"
    private static let hosts = [apple, "updates.push.services.mozilla.com", edge, google, ntfy]
    private static let off = "[broadcast]\nheartbeat = off\n"

    private static func tokens(_ path: String, _ count: Int, _ hosts: [String]) -> [PushedToken] {
        hosts.flatMap { host in
            (0..<count).map { PushedToken(endpoint: "https://\(host)/\(path)/\($0)") }
        }
    }

    @Test("what works is woken once, what is gone leaves, and another sender's endpoints stay")
    func makers() async throws {
        let web = try await WebPushPeer(Self.hosts)
        let service = try await ServiceUnderTest(
            sections: web.section + Self.off, serving: .nothing)
        let others = Self.hosts.filter { $0 != Self.google }
        let good = Self.tokens("p", 20, Self.hosts)
        let gone = Self.tokens("gone", 2, Self.hosts) + Self.tokens("invented", 2, others)
        // 403 of Google's: made for another key. 507 of ntfy: nobody listens now.
        let kept = Self.tokens("invented", 2, [Self.google]) + Self.tokens("nobody", 2, [Self.ntfy])
        try PushedToken.register(good + gone + kept, service)
        let (status, output) = try await service.command("broadcast", "--force")
        #expect(status == 0, "\(output)")
        let report = try await web.peer.report()
        #expect(report.woken == good.count && report.most == 1)
        // Nothing was asked twice.
        #expect(report.requests == good.count + gone.count + kept.count, "\(report)")
        #expect(report.statuses["507"] == 2 && report.statuses["403"] == 2)
        #expect(try PushedToken.count(good + kept, service) == good.count + kept.count)
        #expect(try PushedToken.count(gone, service) == 0)
    }

    @Test("a host that asks for time is asked no more than it answers", arguments: [401, 406, 429])
    func later(_ answer: Double) async throws {
        let web = try await WebPushPeer([Self.edge, Self.ntfy])
        let service = try await ServiceUnderTest(
            sections: web.section + Self.off, serving: .nothing)
        let endpoints = Self.tokens("p", 100, [Self.edge])
        try PushedToken.register(endpoints, service)
        try await web.peer.set("status", answer, after: 20)
        let round = try RunningProgram(
            "reveille", ["broadcast", "--force", "--config", service.configuration])
        // The answers come with Retry-After: 60.
        try await web.peer.report(woken: 20)
        if answer != 401 { _ = try await service.command("broadcast", "--stop") }
        let ended = await round.finished()
        let report = try await web.peer.report()
        #expect(report.requests <= endpoints.count, "\(ended.output)")
        #expect(report.most == 1)
        #expect(try PushedToken.count(endpoints, service) == endpoints.count)
    }
}
