import Testing
import WakeSystem
import WakeUnifiedPush

@Suite("What comes over the bus, read")
struct CallTests {
    private static func call(_ member: String, _ body: [BusValue]) -> ConnectorCall? {
        ConnectorCall(
            .call(
                "org.example.App", path: "/org/unifiedpush/Connector",
                interface: "org.unifiedpush.Connector2", member: member, body))
    }

    private static let token = BusValue.string("t")
    private static let text = Array("t".utf8)

    @Test("the arguments of the specification are taken, and others passed over")
    func arguments() {
        let message = Self.call(
            "Message",
            [.options([("token", Self.token), ("message", .bytes([])), ("x", .byte(1))])])
        #expect(message == .message(token: Self.text, id: nil))
        // A string in the specification's text.
        let text = Self.call(
            "Message",
            [.options([("token", Self.token), ("message", .string("")), ("id", .string("7"))])])
        #expect(text == .message(token: Self.text, id: Array("7".utf8)))
        let endpoint = Self.call(
            "NewEndpoint", [.options([("token", Self.token), ("endpoint", .string("e"))])])
        #expect(endpoint == .newEndpoint(token: Self.text, endpoint: Array("e".utf8)))
        let ended = Self.call("Unregistered", [.options([("token", Self.token)])])
        #expect(ended == .unregistered(token: Self.text))
    }

    @Test("ids and tokens that are too long, empty or of another type are none")
    func bounds() {
        func id(_ value: BusValue) -> ConnectorCall? {
            Self.call(
                "Message",
                [.options([("token", Self.token), ("message", .bytes([1])), ("id", value)])])
        }
        let long = String(repeating: "i", count: 257)
        for value: BusValue in [.string(long), .string(""), .bytes([1]), .uint32(5)] {
            #expect(id(value) == .message(token: Self.text, id: nil))
        }
        #expect(id(.string(String(long.dropLast()))) != .message(token: Self.text, id: nil))
        for value: BusValue in [
            .string(""), .string(String(repeating: "t", count: 101)), .bytes([1]),
            .variant(.string("t")), .boolean(true),
        ] {
            #expect(Self.call("Unregistered", [.options([("token", value)])]) == .malformed)
        }
    }

    @Test("other bodies are unreadable, other calls are none of ours")
    func others() {
        let bodies: [[BusValue]] = [
            [], [.string("t")], [.options([]), .byte(1)],
            [
                .dictionary(
                    key: "s", value: "s", [BusEntry(key: .string("token"), value: Self.token)])
            ],
            [.options([])],
        ]
        for body in bodies {
            for member in ["Message", "NewEndpoint", "Unregistered"] {
                #expect(Self.call(member, body) == .malformed)
            }
        }
        #expect(Self.call("Other", [.options([])]) == nil)
        let elsewhere = BusMessage.call(
            "a.b", path: "/", interface: "org.unifiedpush.Connector2", member: "Message", [])
        #expect(ConnectorCall(elsewhere) == nil)
    }

    @Test("answers to Register mean what the specification says, and nothing else is success")
    func answers() {
        func answer(_ body: [BusValue]) -> RegisterResponse {
            var message = BusMessage(.reply)
            message.body = body
            return RegisterResponse(message)
        }
        func failed(_ reason: String) -> RegisterResponse {
            answer([
                .options([
                    ("success", .string("REGISTRATION_FAILED")), ("reason", .string(reason)),
                ])
            ])
        }
        #expect(
            answer([.options([("success", .string("REGISTRATION_SUCCEEDED"))])]) == .succeeded)
        #expect(failed("ACTION_REQUIRED") == .actionRequired)
        #expect(failed("UNAUTHORIZED") == .actionRequired)
        #expect(failed("VAPID_REQUIRED") == .vapidRequired)
        for reason in ["INTERNAL_ERROR", "NETWORK", "", "ODD", String(repeating: "x", count: 9999)]
        {
            #expect(failed(reason) == .failed)
        }
        for body: [BusValue] in [
            [], [.string("REGISTRATION_SUCCEEDED")], [.options([])],
            [.options([("success", .boolean(true))])], [.options([("success", .string("yes"))])],
        ] {
            #expect(answer(body) == .failed)
        }
        #expect(RegisterResponse(.failed(.serviceUnknown)) == .absent)
        #expect(RegisterResponse(.failed(.unknownInterface)) == .unsupported)
        #expect(RegisterResponse(.timedOut) == .unanswered)
    }

    @Test("distributors are told by their prefix")
    func names() {
        let good = ["org.unifiedpush.Distributor.kde", "org.unifiedpush.Distributor.a.b-c"]
        let bad = [
            "org.unifiedpush.Distributor", "org.unifiedpush.Distributor.",
            "org.unifiedpush.Distributor.1", "org.unifiedpush.DistributorX.y", ":1.5", "",
        ]
        for name in good { #expect(Distributor.isName(Array(name.utf8))) }
        for name in bad { #expect(!Distributor.isName(Array(name.utf8))) }
    }
}
