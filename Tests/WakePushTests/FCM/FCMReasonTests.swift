import Testing
import WakeSystem

@testable import WakePush

@Suite("The reason in an answer of FCM")
struct FCMReasonTests {
    private static func read(_ body: String) -> FCMReason? { read(Array(body.utf8)) }
    private static func read(_ body: [UInt8]) -> FCMReason? { FCMReason(body: body.span) }

    @Test("every reason is read from a body as Google writes it", arguments: FCMReason.allCases)
    func bodies(_ reason: FCMReason) {
        #expect(Self.read(FCMBody.of(reason)) == reason)
    }

    @Test("the two examples of Google's page, as printed there")
    func documented() {
        let badValue = #"""
            {
              "error": {
                "code": 400,
                "message": "Invalid value at 'message.data[0].value' (TYPE_STRING), 12",
                "status": "INVALID_ARGUMENT",
                "details": [
                  {
                    "@type": "type.googleapis.com/google.rpc.BadRequest",
                    "fieldViolations": [
                      {
                        "field": "message.data[0].value",
                        "description": "Invalid value at 'message.data[0].value' (TYPE_STRING), 12"
                      }
                    ]
                  }
                ]
              }
            }
            """#
        let badToken = #"""
            {
              "error": {
                "code": 400,
                "message": "The registration token is not a valid FCM registration token",
                "status": "INVALID_ARGUMENT",
                "details": [
                  {
                    "@type": "type.googleapis.com/google.firebase.fcm.v1.FcmError",
                    "errorCode": "INVALID_ARGUMENT"
                  }
                ]
               }
            }
            """#
        #expect(Self.read(badValue) == .requestInvalid)
        #expect(Self.read(badToken) == .tokenInvalid)
    }

    @Test("members may come in any order, with any others beside them")
    func order() {
        let type = #""@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError""#
        for detail in [
            #"{\#(type),"errorCode":"UNREGISTERED"}"#,
            #"{"errorCode":"UNREGISTERED",\#(type)}"#,
            #"{"a":[{"b":null}],"errorCode":"UNREGISTERED","c":-1.5e+3,\#(type),"d":true}"#,
        ] {
            #expect(Self.read(#"{"error":{"details":[\#(detail)]}}"#) == .unregistered)
            #expect(
                Self.read(#"{"x":1,"error":{"details":[{},\#(detail)],"y":[]}}"#) == .unregistered)
        }
    }

    @Test("any field but the push token blames the request, whatever FCM says beside it")
    func fields() {
        #expect(Self.read(FCMBody.both("message.token")) == .tokenInvalid)
        #expect(Self.read(FCMBody.both("message.tokens")) == .requestInvalid)
        #expect(Self.read(FCMBody.both("")) == .requestInvalid)
        #expect(Self.read(FCMBody.both("message.fid")) == .tokenInvalid)
        #expect(Self.read(FCMBody.badRequest("message.token")) == .targetRefused)
        #expect(Self.read(FCMBody.badRequest("message.fid")) == .targetRefused)
        #expect(Self.read(FCMBody.badRequest("message.fid", "message.token")) == .targetRefused)
        #expect(Self.read(FCMBody.badRequest("message.token", "message.data")) == .requestInvalid)
        #expect(Self.read(FCMBody.badRequest()) == .requestInvalid)
    }

    @Test("a front that does not know the push token's field blames the push token, no other field")
    func unknownNames() {
        func body(_ field: String, _ name: String) -> String {
            let text = #"Unknown name \"\#(name)\" at 'message': Cannot find field."#
            return #"""
                {"error":{"code":400,"message":"Invalid JSON payload received. \#(text)","status":
                "INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.BadRequest",
                "fieldViolations":[{"field":"\#(field)","description":
                "Invalid JSON payload received. \#(text)"}]}]}}
                """#
        }
        #expect(Self.read(body("message", "fid")) == .targetRefused)
        #expect(Self.read(body("message", "token")) == .targetRefused)
        #expect(Self.read(body("message", "data")) == .requestInvalid)
        #expect(Self.read(body("", "fid")) == .requestInvalid)
    }

    private static let type = "type.googleapis.com/google.firebase.fcm.v1.FcmError"
    private static let detail =
        #"{"@type":"\#(type)","errorCode":"UNREGISTERED"}"#

    @Test(
        "anything but an error with a known detail is no reason",
        arguments: [
            "", " ", "{}", "null", "[]", "UNREGISTERED", #""UNREGISTERED""#,
            #"{"error":"UNREGISTERED"}"#, #"{"error":{"status":"UNREGISTERED"}}"#,
            #"{"error":{"errorCode":"UNREGISTERED"}}"#, #"{"details":[\#(detail)]}"#,
            #"{"error":{"details":\#(detail)}}"#, #"{"error":{"details":[[\#(detail)]]}}"#,
            #"{"error":{"detail":[\#(detail)]}}"#, #"{"error":[{"details":[\#(detail)]}]}"#,
            #"{"error":{"details":[\#(detail)]}}x"#, #"{"error":{"details":[\#(detail),]}}"#,
            #"{"error":{"details":[\#(detail)]},"error":{}}"#,
            #"{"error":{"details":[{"errorCode":"UNREGISTERED"}]}}"#,
            #"{"error":{"details":[{"@type":"FcmError","errorCode":"UNREGISTERED"}]}}"#,
            #"{"error":{"details":[{"@type":"\#(type)"}]}}"#,
            "<html>UNREGISTERED</html>", "\u{FEFF}{\"error\":{\"details\":[\(detail)]}}",
        ])
    func refused(_ body: String) {
        #expect(Self.read(body) == nil)
    }

    @Test("a code that is not known is no reason")
    func unknownCodes() {
        for code in ["", "unregistered", "UNREGISTERED ", "UNSPECIFIED_ERROR", "SOMETHING_NEW"] {
            #expect(Self.read(FCMBody.fcm(code, 404)) == nil)
        }
    }

    @Test("a body cut short at any point is no reason", arguments: FCMReason.allCases)
    func everyCut(_ reason: FCMReason) {
        let body = Array(FCMBody.of(reason).utf8)
        // The last two bytes are line breaks behind the document.
        for count in 0..<body.count - 1 { #expect(Self.read(Array(body.prefix(count))) == nil) }
        #expect(Self.read(body) == reason)
    }

    @Test("a body of 4096 bytes is read, a longer one is not")
    func limit() {
        let body = Array(FCMBody.fcm("UNREGISTERED", 404).utf8)
        let padded = body + [UInt8](repeating: 0x20, count: 4096 - body.count)
        #expect(Self.read(padded) == .unregistered)
        #expect(Self.read(padded + [0x20]) == nil)
    }

    @Test("nesting is bounded, and what nests too deep is no reason")
    func depth() {
        func body(_ depth: Int) -> String {
            let nest =
                String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
            return #"{"error":{"details":[\#(Self.detail)],"x":\#(nest)}}"#
        }
        #expect(Self.read(body(6)) == .unregistered)
        #expect(Self.read(body(7)) == nil)
        #expect(Self.read(body(1900)) == nil)
        #expect(Self.read(String(repeating: #"{"error":"#, count: 450)) == nil)
        #expect(Self.read(String(repeating: "[", count: 4096)) == nil)
    }

    @Test("random and damaged bodies never make gone out of nothing")
    func hostile() {
        var generator = SystemRandomNumberGenerator()
        let body = Array(#"{"error":{"details":[\#(Self.detail)],"code":404}}"#.utf8)
        let part = Array(Self.detail.utf8)
        for _ in 0..<20_000 {
            var damaged = body
            for _ in 0..<Int.random(in: 1...3, using: &generator) {
                damaged[Int.random(in: 0..<damaged.count, using: &generator)] =
                    .random(in: 0...255, using: &generator)
            }
            if Self.read(damaged) != nil {
                // Only damage outside the detail may leave it readable.
                #expect(damaged.firstRange(of: part) != nil)
            }
            let noise = (0..<Int.random(in: 0...200, using: &generator)).map { _ in
                UInt8.random(in: 0...255, using: &generator)
            }
            #expect(Self.read(noise) == nil)
        }
    }
}
