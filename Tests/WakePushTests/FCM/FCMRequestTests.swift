import Foundation
import Testing
import WakeModel
import WakeSystem

@testable import WakePush

@Suite("The one request to FCM")
struct FCMRequestTests {
    private static func template(
        _ endpoint: GatewayEndpoint = GatewayEndpoint(host: "fcm.googleapis.com"),
        lifetime: Int = 7200
    ) -> RequestTemplate {
        FCMRequest(endpoint, projectID: "example-project", lifetime: lifetime)
            .template(authorization: FCMRequest.authorization(SecretBytes(Array("ya29.x".utf8))))
    }

    private static func target(_ token: String, isRetargeted: Bool = false) -> [UInt8] {
        var text: [UInt8] = []
        FCMRequest.append(Array(token.utf8).span, isRetargeted: isRetargeted, to: &text)
        return text
    }

    private static func object(_ template: RequestTemplate, _ token: String) throws -> NSDictionary
    {
        let body = Data(template.body + target(token) + template.bodyTail)
        return try #require(try JSONSerialization.jsonObject(with: body) as? NSDictionary)
    }

    @Test("it is what Google documents, data only, field by field")
    func template() throws {
        let template = Self.template()
        #expect(template.scheme == "https" && template.authority == "fcm.googleapis.com")
        #expect(template.path == "/v1/projects/example-project/messages:send")
        #expect(template.tokenPlace == .body && !template.indexesAuthorization)
        let fields = template.fields.map {
            String(decoding: $0.name + Array(": ".utf8) + $0.value, as: UTF8.self)
        }
        #expect(fields == ["content-type: application/json"])
        #expect(template.authorization == Array("Bearer ya29.x".utf8))
        let expected: NSDictionary = [
            "message": [
                "token": "abc:APA91b",
                "data": ["wake": "1"],
                "android": ["priority": "NORMAL", "ttl": "7200s", "collapse_key": "wake"],
            ]
        ]
        #expect(try Self.object(template, "abc:APA91b") == expected)
    }

    @Test("every visible ASCII character of a push token arrives as itself")
    func escaping() throws {
        let all = String(decoding: (0x21...0x7E).map { UInt8($0) }, as: UTF8.self)
        for token in [all, #"""#, #"\"#, #"\\""#, #"","topic":"x"#, #"a\u0041"#] {
            let message = try Self.object(Self.template(), token)["message"] as? NSDictionary
            #expect(message?["token"] as? String == token)
            #expect(message?.count == 3)
        }
        #expect(Self.target("abc:-_") == Array(#"token":"abc:-_"#.utf8))
    }

    @Test("22 characters of base64url are an installation ID, everything else is a token")
    func fields() throws {
        let id = "cIdZ-_8a9XnQm0Tz3V5wYk"
        for (token, field, other) in [
            (id, "fid", "token"), (id + ":APA91b", "token", "fid"), (id + "a", "token", "fid"),
            (String(id.dropLast()), "token", "fid"), ("+" + id.dropFirst(), "token", "fid"),
        ] {
            for (isRetargeted, name) in [(false, field), (true, other)] {
                let form = Self.target(token, isRetargeted: isRetargeted)
                #expect(String(decoding: form, as: UTF8.self) == "\(name)\":\"\(token)")
            }
        }
    }

    @Test("random push tokens are read back by our own reader too")
    func roundTrip() throws {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<500 {
            let token = (0..<Int.random(in: 1...588, using: &generator)).map { _ in
                UInt8.random(in: 0x21...0x7E, using: &generator)
            }
            let target = Self.target(String(decoding: token, as: UTF8.self))
            let text = Array("{\"".utf8) + target + Array("\"}".utf8)
            #expect(text.count <= RequestTemplate.tokenBytes)
            #expect(try JSONValue(parsing: text)["token"] == .string(token))
        }
    }

    @Test("the time to live is the interval, four weeks at most")
    func lifetime() throws {
        for (lifetime, ttl) in [(1, "1s"), (2_419_200, "2419200s"), (9_999_999, "2419200s")] {
            let body = String(decoding: Self.template(lifetime: lifetime).body, as: UTF8.self)
            #expect(body.contains(#""ttl":"\#(ttl)""#))
        }
    }

    @Test("the longest access token and push token fit their frames")
    func frames() {
        let token = SecretBytes([UInt8](repeating: 0x78, count: FCMTokenExchange.tokenLimit))
        let project = String(repeating: "p", count: 128)
        let template = FCMRequest(
            GatewayEndpoint(host: "fcm.googleapis.com"), projectID: project, lifetime: 7200
        )
        .template(authorization: FCMRequest.authorization(token))
        #expect(template.fitsFrames)
    }

    @Test("a section with a key is enough, and no section is no gateway")
    func configuration() throws {
        #expect(try FCMConfiguration(section: [:]) == nil)
        let configuration = try #require(try FCMConfiguration(section: ["key": "/k.json"]))
        #expect(
            configuration.endpoint == GatewayEndpoint(host: "fcm.googleapis.com")
                && configuration.options.connections == 10)
        #expect(configuration.endpoint.authority == "fcm.googleapis.com")
        let moved = [
            "key": "/k.json", "host": "127.0.0.1", "port": "9", "ca": "/ca", "plain": "on",
            "connections": "4", "per-minute": "1200", "credentials": "file", "project": "p",
            "topic": "wake", "topic-shards": "2", "topic-seconds": "4", "tokens": "on",
        ]
        #expect(Set(moved.keys) == Set(FCMConfiguration.words.map(\.name)))
        let other = try #require(try FCMConfiguration(section: moved))
        #expect(other.endpoint.authority == "127.0.0.1:9" && other.endpoint.isPlain)
        #expect(other.endpoint.authorityFile == "/ca" && other.options.connections == 4)
        #expect(Self.template(other.endpoint).scheme == "http")
        #expect(configuration.perMinute == 600_000 && other.perMinute == 1200)
        #expect(configuration.topic == nil && configuration.wakesTokens)
        #expect(other.topic?.names == ["wake-0", "wake-1"] && other.wakesTokens)
        #expect(try FCMConfiguration(section: ["key": "k", "topic": "a"])?.wakesTokens == false)
        let metadata = ["credentials": "metadata", "project": "p"]
        #expect(try FCMConfiguration(section: metadata)?.key == nil)
    }

    @Test("missing and bad values, and clear text to elsewhere, are refused by their key")
    func badValues() {
        let cases: [([String: String], GatewaySectionFault)] = [
            (["host": "a"], .missing("key")), (["key": ""], .missing("key")),
            (["key": "k", "port": "0"], .badValue("port")),
            (["key": "k", "host": "https://a"], .badValue("host")),
            (["key": "k", "port": "65536"], .badValue("port")),
            (["key": "k", "connections": "0"], .badValue("connections")),
            (["key": "k", "connections": "65"], .badValue("connections")),
            (["key": "k", "per-minute": "599"], .badValue("per-minute")),
            (["key": "k", "per-minute": "60000001"], .badValue("per-minute")),
            (["key": "k", "per-minute": "many"], .badValue("per-minute")),
            (["key": "k", "plain": "yes"], .badValue("plain")),
            (["key": "k", "credentials": "metadata"], .missing("project")),
            (
                ["key": "k", "credentials": "metadata", "project": "p"],
                .badValue("credentials")
            ),
            (["key": "k", "credentials": "none"], .badValue("credentials")),
            (["key": "k", "project": "a/b"], .badValue("project")),
            (["key": "k", "tokens": "off"], .missing("topic")),
            (["key": "k", "topic": "a", "tokens": "no"], .badValue("tokens")),
            (["key": "k", "plain": "on"], .plainToElsewhere),
            (["key": "k", "plain": "on", "host": "10.0.0.1"], .plainToElsewhere),
        ]
        for (section, error) in cases {
            #expect(throws: error) { try FCMConfiguration(section: section) }
            let message = error.message(section: "fcm", words: FCMConfiguration.words)
            #expect(message.hasPrefix("[fcm] ") && message.contains("\nhint: "))
        }
    }
}
