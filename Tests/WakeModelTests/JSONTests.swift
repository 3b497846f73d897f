import Testing
import WakeModel
import WakeSystem

@Suite("Documents of the protocol")
struct JSONTests {
    static let hex = String(repeating: "ab", count: 32)

    /// A point and a secret of RFC 8291 §5.
    static let point =
        "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
    static let auth = "BTBZMqHH6r4Tts7J_aSIgg"

    static func keys(point: String = point, auth: String = auth) -> String {
        #"{"p256dh":"\#(point)","auth":"\#(auth)"}"#
    }

    /// - Parameter path: the length of the endpoint.
    static func webPush(_ keys: String, path length: Int = 20) -> String {
        let endpoint = "https://a.b/" + String(repeating: "x", count: length - 12)
        return #"{"keys":\#(keys),"service":"webpush","endpoint":"\#(endpoint)"}"#
    }

    private func decode(_ text: String) -> Result<PushToken, RegistrationBodyError> {
        Result { () throws(RegistrationBodyError) in
            try RegistrationBody(decoding: Array(text.utf8)).token
        }
    }

    @Test(
        "bodies in any order, spacing and escaping are read",
        arguments: [
            #"{"service":"apns","token":"\#(hex)"}"#,
            " \t\r\n{ \"token\" : \"\(hex)\" , \"service\" : \"apns\" } \n",
            #"{"\u0073ervice":"\u0061pns","token":"\#(hex)"}"#,
        ])
    func accepted(_ text: String) throws {
        let token = try decode(text).get()
        #expect(token.service == .apns)
        #expect(token.bytes.copy() == [UInt8](repeating: 0xAB, count: 32))
    }

    @Test("an endpoint of up to 506 bytes comes with its keys")
    func keyed() throws {
        for length in [13, Limits.keyedEndpointBytes] {
            let token = try decode(Self.webPush(Self.keys(), path: length)).get()
            let keys = try #require(token.keys)
            #expect(token.text().count == length && token.withAddress { $0.count } == length)
            let point = Base64URL.encode(keys.point.copy().span)
            #expect(String(decoding: point, as: UTF8.self) == Self.point)
            let secret = Base64URL.encode(keys.secret.copy().span)
            #expect(String(decoding: secret, as: UTF8.self) == Self.auth)
            let body = RegistrationBody.encode(token)
            #expect(try body.count == 1024 && RegistrationBody(decoding: body).token == token)
            #expect(try PushToken(service: .webPush, bytes: token.bytes.copy()) == token)
            #expect("\(token) \(keys)".utf8.count < 60)
        }
        let bare = try decode(#"{"service":"webpush","endpoint":"https://a.b/"}"#).get()
        #expect(bare.keys == nil)
        // As PushSubscription.toJSON() gives them.
        for time in ["null", "1796443740000", "-1.5e3"] {
            let body = Self.webPush(Self.keys()).dropLast() + #","expirationTime":\#(time)}"#
            #expect(try decode(String(body)).get().keys != nil)
        }
    }

    static let refused: [(String, RegistrationBodyError)] = [
        ("", .json(.malformed)), ("{}", .unknownService), ("[]", .json(.malformed)),
        ("null", .json(.malformed)), (#"{"service":"apns"}"#, .json(.missingMember)),
        (#"{"service":"apns","token":"\#(hex)","email":"a@b"}"#, .json(.unknownMember)),
        (#"{"service":"apns","token":"\#(hex)"}x"#, .json(.malformed)),
        (#"{"service":"apns","token":"\#(hex)",}"#, .json(.malformed)),
        (#"{"service":"apns","service":"apns","token":"\#(hex)"}"#, .json(.duplicateMember)),
        (#"{"service":"apns","\u0073ervice":"x","token":"\#(hex)"}"#, .json(.duplicateMember)),
        (#"{"service":"pager","token":"\#(hex)"}"#, .unknownService),
        (#"{"service":1,"token":"\#(hex)"}"#, .json(.malformed)),
        (#"{"service":"webpush","token":"\#(hex)"}"#, .json(.missingMember)),
        (#"{"service":"apns","endpoint":"https://a.b/c"}"#, .json(.missingMember)),
        (#"{"service":"fcm","token":"a","endpoint":"https://a.b/c"}"#, .json(.unknownMember)),
        (#"{"service":"webpush","endpoint":"https://127.1/c"}"#, .token(.malformed)),
        (#"{"service":"apns","token":"\#(hex)","keys":\#(keys())}"#, .json(.unknownMember)),
        (webPush(#""x""#), .json(.malformed)), (webPush("{}"), .json(.missingMember)),
        (webPush("null"), .json(.malformed)),
        (webPush(#"{"p256dh":"\#(point)"}"#), .json(.missingMember)),
        (webPush(#"{"p256dh":"\#(point)","auth":"\#(auth)","x":"y"}"#), .json(.unknownMember)),
        (webPush(#"{"auth":"\#(auth)","auth":"\#(auth)"}"#), .json(.duplicateMember)),
        (webPush(keys(point: String(point.dropLast()))), .token(.malformed)),
        (webPush(keys(point: point + "=")), .token(.malformed)),
        (webPush(keys(point: "A" + point.dropFirst())), .token(.malformed)),
        (webPush(keys(auth: auth + "AA")), .token(.malformed)),
        (webPush(keys(), path: 507), .token(.tooLong)),
        (webPush(keys() + #","expirationTime":"soon""#), .json(.malformed)),
        (#"{"service":"fcm","token":"a","expirationTime":null}"#, .json(.unknownMember)),
        (#"{"service":"fcm","token":"a\u0000b"}"#, .json(.malformed)),
        (#"{"service":"fcm","token":"\ud800"}"#, .json(.malformed)),
        (#"{"service":"fcm","token":"\ud800\u0041"}"#, .json(.malformed)),
        (#"{"service":"fcm","token":"\udc00"}"#, .json(.malformed)),
        (#"{"service":"fcm","token":"\x"}"#, .json(.malformed)),
        ("{\"service\":\"fcm\",\"token\":\"a\nb\"}", .json(.malformed)),
        ("\u{FEFF}{\"service\":\"fcm\",\"token\":\"a\"}", .json(.malformed)),
        ("{'service':'fcm'}", .json(.malformed)),
    ]

    @Test("everything else is refused for its own reason", arguments: refused)
    func refusal(_ text: String, _ reason: RegistrationBodyError) {
        #expect(decode(text) == .failure(reason))
    }

    @Test("bytes that are not UTF-8 are refused, overlong forms and surrogates too")
    func utf8() {
        for bad: [UInt8] in [[0xFF], [0xC0, 0xAF], [0xED, 0xA0, 0x80], [0xF5, 0x80, 0x80, 0x80]] {
            let body = Array(#"{"service":"fcm","token":""#.utf8) + bad + Array(#""}"#.utf8)
            #expect(throws: RegistrationBodyError.json(.malformed)) {
                try RegistrationBody(decoding: body)
            }
        }
    }

    @Test("every prefix of a body is refused and never crashes")
    func prefixes() {
        let body = Array(#"{"service":"fcm","token":"\u0061\ud83d\ude00"}"#.utf8)
        for count in 0..<body.count {
            #expect(throws: RegistrationBodyError.self) {
                try RegistrationBody(decoding: Array(body[..<count]))
            }
        }
    }

    @Test("what the client writes, the service reads, and every body has one length")
    func roundTrip() throws {
        let tokens = [
            try PushToken(service: .apns, bytes: [UInt8](repeating: 9, count: 32)),
            try PushToken(service: .apnsSandbox, bytes: [UInt8](repeating: 9, count: 100)),
            try PushToken(service: .fcm, bytes: Array("a\"\\b:c".utf8)),
            try PushToken(
                service: .webPush,
                bytes: Array(("https://a.b/" + String(repeating: "x", count: 490)).utf8)),
        ]
        for token in tokens {
            let body = RegistrationBody.encode(token)
            #expect(body.count == Limits.paddedBodyBytes)
            #expect(try RegistrationBody(decoding: body).token == token)
        }
    }

    @Test("subject access answers have one length, known or unknown, and survive the round trip")
    func answers() throws {
        let token = try PushToken(
            service: .fcm, bytes: [UInt8](repeating: UInt8(ascii: "\\"), count: 588))
        let keyed = try decode(Self.webPush(Self.keys(), path: 506)).get()
        let stored = [token, keyed].map { token in
            StoredRegistration(
                generation: .previous, id: [UInt8](repeating: 3, count: 32),
                sealed: [UInt8](repeating: 255, count: 632), token: token)
        }
        let hash = String(repeating: "0", count: 64)
        for answer in (stored + [nil]).map({ RegistrationResponse(stored: $0, policyHash: hash) }) {
            let bytes = answer.encode()
            #expect(bytes.count == Limits.registrationAnswerBytes)
            #expect(try RegistrationResponse.decode(bytes) == answer)
        }
    }

    @Test("what a terminal obeys is escaped, whoever wrote it, and reads back as it was")
    func commands() throws {
        let hidden = (0...0xFFFF as ClosedRange<UInt32>).compactMap(Unicode.Scalar.init)
            .filter { $0.isCommand && $0 != "\0" }
        #expect(hidden.count == 31 + 33 + 1 + 2 + 7 + 4)
        for scalar in hidden + ["\u{85}", "\u{9B}", "\u{202E}", "\u{7F}"] {
            let note = "a\(Character(scalar))ü\u{2069}\u{200D}€"
            var text = JSONText()
            text.beginObject()
            text.member("note", string: note)
            text.endObject()
            let written = String(decoding: text.bytes, as: UTF8.self)
            let isHarmless = written.unicodeScalars.allSatisfy { !$0.isCommand }
            #expect(isHarmless, "\(scalar.value)")
            let read = try JSONValue(parsing: text.bytes)
            #expect(read["note"].text == note)
        }
        // Halves of characters, and those next to the escaped ones, stay as they are.
        let others: [[UInt8]] = [
            [0xC2], [0xE2, 0x80], [0xD8, 0x9D], [0xC2, 0xA0], [0xE2, 0x80, 0x90],
        ]
        for bytes in others {
            var text = JSONText()
            text.member("", string: bytes.span)
            #expect(text.bytes == Array("\"\":\"".utf8) + bytes + [0x22])
        }
    }
}
