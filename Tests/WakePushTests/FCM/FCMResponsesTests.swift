import Testing
import WakeModel
import WakeSystem

@testable import WakePush

@Suite("What the answers of FCM mean")
struct FCMResponsesTests {
    /// Every row of the design's table, spelled out once more: status, body, meaning.
    static let table: [(String, Int, String, Verdict)] = [
        ("taken", 200, #"{"name":"projects/p/messages/0:1"}"#, .delivery(.accepted)),
        ("taken, no body", 200, "", .delivery(.accepted)),
        ("taken, whatever it says", 200, FCMBody.fcm("UNREGISTERED", 404), .delivery(.accepted)),
        ("unregistered", 404, FCMBody.fcm("UNREGISTERED", 404), .delivery(.gone)),
        (
            "no token of FCM", 400, FCMBody.fcm("INVALID_ARGUMENT", 400),
            ambiguous(.invalid, .tokensRefused)
        ),
        (
            "no token of FCM, and which field", 400, FCMBody.both("message.token"),
            ambiguous(.invalid, .tokensRefused)
        ),
        ("bad value", 400, FCMBody.badRequest("message.data[0].value"), failure(400)),
        ("bad ttl", 400, FCMBody.badRequest("message.android.ttl"), failure(400)),
        ("bad value, of FCM too", 400, FCMBody.both("message"), failure(400)),
        ("no field named", 400, FCMBody.badRequest(), failure(400)),
        (
            "no token, and which field", 400, FCMBody.both("message.fid"),
            ambiguous(.invalid, .tokensRefused)
        ),
        ("bad token, no detail", 400, FCMBody.badRequest("message.token"), refused(.tokensRefused)),
        ("bad ID, not of FCM", 400, FCMBody.badRequest("message.fid"), refused(.tokensRefused)),
        ("bad, no detail", 400, FCMBody.plain("INVALID_ARGUMENT", 400), refused(400)),
        ("bad, no body", 400, "", refused(400)),
        ("unregistered, as 400", 400, FCMBody.fcm("UNREGISTERED", 400), refused(400)),
        ("project", 404, FCMBody.plain("NOT_FOUND", 404), refused(.projectUnknown)),
        ("not Google's", 404, "<html>404</html>", refused(.projectUnknown)),
        ("404, other code", 404, FCMBody.fcm("INVALID_ARGUMENT", 404), refused(.projectUnknown)),
        (
            "unauthenticated", 401, FCMBody.plain("UNAUTHENTICATED", 401),
            .delivery(.retry(.providerTokenExpired))
        ),
        ("401, no body", 401, "", .delivery(.retry(.providerTokenExpired))),
        (
            "third party", 401, FCMBody.fcm("THIRD_PARTY_AUTH_ERROR", 401),
            refused(.tokensOfOtherPlatform)
        ),
        (
            "other sender", 403, FCMBody.fcm("SENDER_ID_MISMATCH", 403),
            refused(.tokensOfOtherProject)
        ),
        ("not allowed", 403, FCMBody.plain("PERMISSION_DENIED", 403), failure(.forbidden)),
        ("403, unregistered", 403, FCMBody.fcm("UNREGISTERED", 403), failure(.forbidden)),
        ("403, no body", 403, "", failure(.forbidden)),
        ("403 of a proxy", 403, "\r\n<!DOCTYPE html><title>x</title>", failure(.proxyRefused)),
        ("method", 405, "", failure(405)),
        ("too large", 413, "", failure(413)),
        ("quota", 429, FCMBody.fcm("QUOTA_EXCEEDED", 429), .delivery(.retry(.throttled))),
        (
            "quota, of Google's front", 429, FCMBody.plain("RESOURCE_EXHAUSTED", 429),
            .delivery(.retry(.throttled))
        ),
        ("429, unregistered", 429, FCMBody.fcm("UNREGISTERED", 429), .delivery(.retry(.throttled))),
        ("internal", 500, FCMBody.fcm("INTERNAL", 500), .delivery(.retry(.serviceFault))),
        ("gateway", 502, "<!DOCTYPE html>", .delivery(.retry(.serviceFault))),
        ("unavailable", 503, FCMBody.fcm("UNAVAILABLE", 503), .delivery(.retry(.serviceFault))),
        (
            "503, unregistered", 503, FCMBody.fcm("UNREGISTERED", 503),
            .delivery(.retry(.serviceFault))
        ),
        ("599", 599, "", .delivery(.retry(.serviceFault))),
        ("gone in HTTP only", 410, FCMBody.fcm("UNREGISTERED", 410), refused(410)),
        ("redirect", 302, "", refused(302)),
        ("no content", 204, "", refused(204)),
        ("conflict", 409, "", refused(409)),
        ("none", 0, FCMBody.fcm("UNREGISTERED", 404), refused(0)),
        ("beyond", 600, "", refused(600)),
    ]

    @Test("every row of the table", arguments: table)
    func row(_ name: String, _ status: Int, _ body: String, _ expected: Verdict) {
        #expect(Self.verdict(status, body) == expected)
    }

    @Test("every row of the data is reached by its own status and reason")
    func rowsAreReached() {
        for row in FCMResponses.table.rows {
            let body = row.reason.map(FCMBody.of) ?? ""
            #expect(Self.verdict(row.status.upperBound, body) == row.verdict)
        }
    }

    @Test("one answer says gone by itself, and one more with answers")
    func goneIsRare() {
        var plain: [String] = []
        var withEvidence: [String] = []
        for status in 0...999 {
            for reason in FCMReason.allCases {
                switch Self.verdict(status, FCMBody.of(reason)) {
                case .delivery(.gone): plain.append("\(status) \(reason)")
                case .ambiguous(.invalid, _): withEvidence.append("\(status) \(reason)")
                default: break
                }
            }
        }
        #expect(plain == ["404 unregistered"])
        #expect(withEvidence == ["400 tokenInvalid"])
    }

    @Test("no single registration can stop the gateway: what a push token can cause needs answers")
    func oneTokenStopsNothing() throws {
        let bodies: [(Int, String)] = [
            (400, FCMBody.fcm("INVALID_ARGUMENT", 400)), (400, FCMBody.both("message.token")),
            (400, FCMBody.badRequest("message.token")), (400, FCMBody.badRequest("message.fid")),
            (400, ""),
            (401, FCMBody.fcm("THIRD_PARTY_AUTH_ERROR", 401)),
            (403, FCMBody.fcm("SENDER_ID_MISMATCH", 403)), (404, ""),
        ]
        for (status, body) in bodies {
            guard case .ambiguous = Self.verdict(status, body) else {
                Issue.record("\(status) \(body) decides alone")
                continue
            }
        }
    }

    @Test("every fault says in two lines what is wrong and what to do")
    func messages() {
        let faults: [FCMFault] = [
            .grantRefused, .exchangeRefused(status: 400), .exchangeUntrusted, .cannotSign,
            .tokenRefused, .forbidden, .projectUnknown, .tokensOfOtherProject,
            .tokensOfOtherPlatform,
            .tokensRefused, .requestRefused(status: 400), .subjectToken, .metadataServer,
            .impersonationRefused(status: 403), .topicRefused,
        ]
        let messages = faults.map { Misconfiguration.fcm($0).message }
        #expect(Set(messages).count == faults.count)
        for message in messages {
            let lines = message.split(separator: "\n")
            #expect(lines.count == 2)
            #expect(lines[0].hasPrefix("fcm: ") && lines[1].hasPrefix("hint: "))
        }
        let words = faults.map { "\(GatewayFailure.misconfigured(.fcm($0)).name)" }
        #expect(Set(words).count == faults.count)
        let unavailable = GatewayFailure.unavailable(.noAccessToken, .fcm)
        #expect(unavailable.message.split(separator: "\n").count == 2)
        #expect("\(unavailable.name)" == "no-access-token")
    }

    static func verdict(_ status: Int, _ body: String) -> Verdict {
        FCMResponses.verdict(status: status, body: Array(body.utf8).span)
    }

    static func failure(_ fault: FCMFault) -> Verdict { .failure(.misconfigured(.fcm(fault))) }

    static func failure(_ status: Int) -> Verdict { failure(.requestRefused(status: status)) }

    static func ambiguous(_ delivery: Delivery, _ fault: FCMFault) -> Verdict {
        .ambiguous(then: delivery, or: .fcm(fault))
    }

    static func refused(_ fault: FCMFault) -> Verdict {
        ambiguous(.retry(.unknownRefusal), fault)
    }

    static func refused(_ status: Int) -> Verdict { refused(.requestRefused(status: status)) }
}
