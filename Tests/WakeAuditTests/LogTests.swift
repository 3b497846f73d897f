import Testing
import WakeAudit
import WakeSystem

@Suite("What a log may say", .timeLimit(.minutes(5)))
struct LogTests {
    private static let clean = """
        reveille info started port=8080
        reveille debug store-opened ms=3
        reveille info broadcast-started sequence=7 streams=2 reasons=heartbeat+asked
        reveille error gateway-stopped service=apns reason=key-refused goaway=none
        reveille info stopping
        reveille info stopped
        reveille error message .../registration.key: Permission denied
        reveille-witness info started port=0 logs=1
        reveille-client info message warning: the clock is wrong
        """

    static let lines: [(String, AuditFinding)] = [
        ("Started reveille.service - anonymous wake-ups.", .foreignLine),
        ("GET /v1/registration 204", .foreignLine),
        ("reveille: registration.key: Permission denied", .foreignLine),
        ("reveille notice started port=8080", .foreignLine),
        ("reveille-relay info started port=0", .foreignLine),
        ("reveille-witness info started port=0", .unknownField),
        ("reveille-client info started port=0", .unknownEvent),
        ("reveille error message", .valueForm),
        ("reveille error message ", .valueForm),
        ("reveille error message a\u{1B}[2Jb", .valueForm),
        ("reveille error message the address 203.0.113.9 is in use", .address),
        ("reveille error message key dGhpcyBpcyBhIHRva2VuIQ4", .tokenLike),
        ("reveille info registered", .unknownEvent),
        ("reveille info started port=8080 peer=x", .unknownField),
        ("reveille info started", .unknownField),
        ("reveille info stopping ", .unknownField),
        ("reveille info started host=8080", .unknownField),
        ("reveille info started port=http", .valueForm),
        ("reveille error gateway-stopped service=apns reason=unreachable", .unknownField),
        ("reveille error gateway-stopped service=apns reason=unreachable goaway=Bye", .valueForm),
        ("reveille info started port=-1", .valueForm),
        ("reveille info started port=", .valueForm),
        ("reveille info head-seen sequence=123456789012345678901", .valueForm),
        ("reveille error deletion-breaker-tripped service=firebase", .valueForm),
        ("reveille info broadcast-started sequence=1 streams=0 reasons=asked+why", .valueForm),
        ("reveille info started port=203.0.113.9", .address),
        ("reveille info peer fe80::1", .address),
        ("reveille info peer 2001:db8:0:0:0:0:2:1", .address),
        ("reveille info peer 00:1b:44:11:3a:b7", .address),
        ("reveille info failed https://push.example.org/x", .address),
        ("reveille info mail to anna@example.org", .address),
        ("reveille info token 0123456789abcdef0123456789abcdef", .tokenLike),
        ("reveille info token dGhpcyBpcyBhIHRva2VuIQ4", .tokenLike),
    ]

    @Test("is the declared events and nothing else", arguments: lines)
    func foreign(_ line: String, _ finding: AuditFinding) async throws {
        let site = try AuditSite(copying: try await StoreHistory.mixed())
        #expect(try site.audit(log: Self.clean).isClean)
        let report = try site.audit(log: Self.clean + "\n" + line + "\n" + Self.clean)
        #expect(report.findings.count(finding) == 1, "\(report.text)")
        #expect(report.verdict(of: .logs) == .violation)
    }

    @Test("without a log, or without keys, those checks are not asked, and the rest is")
    func unasked() async throws {
        let site = try AuditSite(copying: try await StoreHistory.mixed())
        let report = try site.audit()
        #expect(report.verdict(of: .logs) == .notAsked)
        #expect(report.verdict(of: .keys) == .notAsked)
        #expect(report.isClean)
    }
}
