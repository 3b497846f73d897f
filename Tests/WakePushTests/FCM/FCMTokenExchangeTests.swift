import TestSupport
import Testing
import WakeModel

@testable import WakePush

@Suite("What the answers to an exchange for an access token mean")
struct FCMTokenExchangeTests {
    private static func outcome(
        _ status: Int, _ body: String, retryAfter: Int? = nil
    ) -> FCMTokenExchange.Outcome {
        FCMTokenExchange.outcome(
            status: status, retryAfter: retryAfter, body: Array(body.utf8).span)
    }

    private static func token(_ text: String, _ lifetime: Int) -> FCMTokenExchange.Outcome {
        .token(SecretBytes(Array(text.utf8)), lifetime: lifetime)
    }

    @Test("a token is taken with its lifetime, in any order and with other members beside it")
    func good() {
        let bodies = [
            #"{"access_token":"ya29.a0-_~+/=","expires_in":3599,"token_type":"Bearer"}"#,
            #"{"token_type":"bearer","expires_in":3599,"access_token":"ya29.a0-_~+/="}"#,
            """
            {
              "access_token": "ya29.a0-_~+/=", "id_token": null, "scope": ["a", {"b": 1.5}],
              "expires_in": 3599,
              "token_type": "BEARER"
            }

            """,
        ]
        for body in bodies { #expect(Self.outcome(200, body) == Self.token("ya29.a0-_~+/=", 3599)) }
    }

    @Test("a lifetime under a minute is no use, and none is believed beyond a day")
    func lifetimes() {
        func body(_ seconds: String) -> String {
            #"{"access_token":"x","expires_in":\#(seconds),"token_type":"Bearer"}"#
        }
        #expect(Self.outcome(200, body("60")) == Self.token("x", 60))
        #expect(Self.outcome(200, body("999999999")) == Self.token("x", 86_400))
        let absent = #"{"access_token":"x","token_type":"Bearer"}"#
        #expect(Self.outcome(200, absent) == Self.token("x", 3600))
        for seconds in [
            "59", "0", "-1", "3599.0", "\"3599\"", "null", "1e4", "9999999999999999999",
        ] {
            #expect(Self.outcome(200, body(seconds)) == .failed(retryAfter: 0))
        }
    }

    @Test(
        "an answer that is not understood brings no token, and may pass",
        arguments: [
            "", "{}", "[]", "<html>", #"{"access_token":"x","expires_in":3599}"#,
            #"{"expires_in":3599,"token_type":"Bearer"}"#,
            #"{"access_token":"","expires_in":3599,"token_type":"Bearer"}"#,
            #"{"access_token":"x y","expires_in":3599,"token_type":"Bearer"}"#,
            #"{"access_token":"x\r\nhost: a","expires_in":3599,"token_type":"Bearer"}"#,
            #"{"access_token":"x","expires_in":3599,"token_type":"mac"}"#,
            #"{"access_token":"x","access_token":"y","expires_in":3599,"token_type":"Bearer"}"#,
            #"{"access_token":"x","expires_in":3599,"token_type":"Bearer"}{}"#,
            #"{"access_token":["x"],"expires_in":3599,"token_type":"Bearer"}"#,
        ])
    func malformed(_ body: String) {
        #expect(Self.outcome(200, body) == .failed(retryAfter: 0))
    }

    @Test("a token as long as a frame allows is taken, a longer one is not")
    func length() {
        func body(_ count: Int) -> String {
            let text = String(repeating: "x", count: count)
            return #"{"access_token":"\#(text)","expires_in":3599,"token_type":"Bearer"}"#
        }
        let longest = FCMTokenExchange.tokenLimit
        #expect(
            Self.outcome(200, body(longest))
                == Self.token(String(repeating: "x", count: longest), 3599))
        #expect(Self.outcome(200, body(longest + 1)) == .failed(retryAfter: 0))
    }

    @Test("an answer cut short at any point brings no token")
    func everyCut() {
        let body = #"{"access_token":"ya29.x","expires_in":3599,"token_type":"Bearer"}"#
        for count in 0..<body.utf8.count {
            #expect(Self.outcome(200, String(body.prefix(count))) == .failed(retryAfter: 0))
        }
    }

    @Test("a refusal is the gateway's fault: of the account, or of the request")
    func refusals() {
        let signature =
            #"{"error":"invalid_grant","error_description":"Invalid JWT Signature."}"#
        #expect(Self.outcome(400, signature) == .refused(.grantRefused))
        #expect(Self.outcome(401, signature) == .refused(.grantRefused))
        let others = #"{"error":"invalid_grant","at":1.5e3,"details":[{"a":[0.25]}],"b":null}"#
        #expect(Self.outcome(400, others) == .refused(.grantRefused))
        for body in ["", #"{"error":"invalid_scope"}"#, #"{"error":{"code":400}}"#, "<html>"] {
            #expect(Self.outcome(400, body) == .refused(.exchangeRefused(status: 400)))
            #expect(Self.outcome(401, body) == .refused(.exchangeRefused(status: 401)))
        }
        for status in [201, 204, 301, 302, 403, 404, 405, 413] {
            #expect(Self.outcome(status, signature) == .refused(.exchangeRefused(status: status)))
        }
    }

    @Test("too much and broken may pass, and the wait asked for is kept")
    func passing() {
        for status in [408, 429, 500, 502, 503, 599] {
            #expect(Self.outcome(status, "") == .failed(retryAfter: 0))
            #expect(Self.outcome(status, "x", retryAfter: 7) == .failed(retryAfter: 7))
        }
    }
}
