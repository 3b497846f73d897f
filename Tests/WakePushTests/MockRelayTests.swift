import Foundation
import TestSupport
import Testing
import WakeSodium

@Suite(
    "The mock of a relay", .enabled(if: OpenSSLCommand.isInstalled), .timeLimit(.minutes(2)))
struct MockRelayTests {
    private static let key = SigningKey(seed: [UInt8](repeating: 7, count: 32).span)
    private static let components =
        #"("@method" "@authority" "@path" "content-type" "content-digest")"#

    /// What a request is made of, as text.
    struct Parts {
        var body = MockRelayTests.body(3)
        var authority = MockRelay.authority
        var created = MockToken.now
        var nonce = MockToken.part((0..<16).map { _ in UInt8.random(in: 0...255) })
        var order = ["created", "nonce", "keyid", "alg", "tag"]
        var algorithm = "ed25519"
        var tag = "reveille-relay"
        var key = MockRelayTests.key
        var components = MockRelayTests.components

        /// RFC 9421 §2.3
        var parameters: String {
            components
                + order.map { name in
                    switch name {
                    case "created": ";created=\(created)"
                    case "nonce": #";nonce="\#(nonce)""#
                    case "keyid": #";keyid="\#(key.verifyingKey.text)""#
                    case "alg": #";alg="\#(algorithm)""#
                    default: #";tag="\#(tag)""#
                    }
                }.joined()
        }

        func call(isSignedFor other: String? = nil) throws -> MockCall {
            let digest = "sha-256=:\(try MockRelayTests.digest(body)):"
            let base = [
                #""@method": POST"#, #""@authority": \#(other ?? authority)"#,
                #""@path": /v1/relay/wakes"#, #""content-type": application/json"#,
                #""content-digest": \#(digest)"#, #""@signature-params": \#(parameters)"#,
            ].joined(separator: "\n")
            let message = Array(base.utf8)
            let signature = Data(key.sign(message.span)).base64EncodedString()
            var call = MockCall(
                "/v1/relay/wakes",
                [
                    ("Content-Type", "application/json"), ("Content-Digest", digest),
                    ("Signature-Input", "wakes=\(parameters)"),
                    ("Signature", "wakes=:\(signature):"),
                ], body: body)
            call.host = authority
            return call
        }
    }

    static func body(_ count: Int) -> String {
        let wakes = (0..<count).map { number in
            let digits = String(number, radix: 16)
            let token = String(repeating: "0", count: 64 - digits.count) + digits
            return #"{"service":"\#(number % 2 == 0 ? "apns" : "fcm")","token":"\#(token)"}"#
        }
        return #"{"lifetime":7200,"wakes":[\#(wakes.joined(separator: ","))]}"#
    }

    /// SHA-256 by `openssl`.
    static func digest(_ body: String) throws -> String {
        let directory = try TemporaryDirectory()
        let (input, output) = (directory.path + "/body", directory.path + "/digest")
        try Data(body.utf8).write(to: URL(filePath: input))
        try OpenSSLCommand.run(["dgst", "-sha256", "-binary", "-out", output, input])
        return try Data(contentsOf: URL(filePath: output)).base64EncodedString()
    }

    private static func mock(_ flags: String...) async throws -> MockRelay {
        try await MockRelay(
            flags, installations: [key.verifyingKey.text], authority: MockRelay.authority)
    }

    /// The lines of an answer, however it was cut into chunks; nil when it broke off.
    static func lines(_ call: MockCall, _ mock: MockRelay) throws -> [String]? {
        let client = try LoopbackClient(port: UInt16(mock.port))
        try client.send(call.bytes)
        let head = try client.receiveResponse(toHead: true)
        #expect(head["Transfer-Encoding"] == "chunked")
        var text = ""
        while true {
            // A line's end is one character in Swift.
            guard let size = try? client.receive(through: "\r\n"),
                let count = Int(size.dropLast(1), radix: 16)
            else { return nil }
            text += String(
                decoding: try client.receive(exactly: count + 2).dropLast(2), as: UTF8.self)
            if count == 0 { break }
        }
        return text.split(separator: "\n").map(String.init)
    }

    @Test("a signed batch gets a line for every wake-up, and a last one; parameters in any order")
    func accepted() async throws {
        let mock = try await Self.mock("--deliver", "2:gone", "--deliver", "3:retry:throttled")
        var parts = Parts()
        let lines = try Self.lines(try parts.call(), mock)
        #expect(
            lines == [
                #"{"wake":0,"delivery":"accepted"}"#, #"{"wake":1,"delivery":"gone"}"#,
                #"{"wake":2,"delivery":"retry","cause":"throttled"}"#, #"{"done":3}"#,
            ])
        parts = Parts()
        parts.order.reverse()
        parts.body = Self.body(1000)
        #expect(try Self.lines(try parts.call(), mock)?.count == 1001)
        let report = try await mock.report()
        #expect((report.batches, report.wakes, report.largestBatch) == (2, 1003, 1000))
        #expect(report.services == ["apns": 502, "fcm": 501])
        #expect(report.installations == 1)
        #expect(report.refusals.isEmpty)
    }

    /// What is done to a request, and the code of the answer.
    private static func refused(
        _ code: String, status: Int = 401, _ call: MockCall, _ mock: MockRelay
    ) throws {
        let answer = try call.answer(from: mock.port)
        #expect(answer.status == status)
        #expect(answer["Content-Type"] == "application/problem+json")
        #expect(answer.member("code") == code)
    }

    @Test("whatever is altered, missing, stale, replayed or foreign is refused by its code")
    func refusals() async throws {
        let mock = try await Self.mock()
        let good = try Parts().call()
        #expect(try Self.lines(good, mock)?.count == 4)
        try Self.refused("signature_replayed", good, mock)
        for name in ["Signature", "Signature-Input"] {
            try Self.refused("signature_missing", good.with(name, nil), mock)
        }
        try Self.refused("signature_malformed", good.with("Content-Digest", nil), mock)
        try Self.refused("signature_malformed", good.with("Signature", "wakes=:AAAA:"), mock)
        var altered = try Parts().call()
        altered.body[13] ^= 1
        try Self.refused("signature_wrong", altered, mock)
        try Self.refused("signature_wrong", try Parts().call(isSignedFor: "other.example"), mock)
        var parts = Parts()
        parts.authority = "other.example"
        try Self.refused("signature_wrong", try parts.call(), mock)
        for (created, code) in [(-61, "signature_stale"), (30, "signature_stale")] {
            var parts = Parts()
            parts.created += created
            try Self.refused(code, try parts.call(), mock)
        }
        parts = Parts()
        parts.key = SigningKey(seed: [UInt8](repeating: 8, count: 32).span)
        try Self.refused("installation_unknown", status: 403, try parts.call(), mock)
        parts = Parts()
        parts.tag = "other"
        try Self.refused("signature_malformed", try parts.call(), mock)
        parts = Parts()
        parts.order.removeLast()
        try Self.refused("signature_malformed", try parts.call(), mock)
        parts = Parts()
        parts.components = #"("@authority" "@method" "@path" "content-type" "content-digest")"#
        try Self.refused("signature_malformed", try parts.call(), mock)
        let report = try await mock.report()
        #expect(report.batches == 1)
        #expect(report.refusals["signature_wrong"] == 3)
    }

    static let wrongBodies: [(String, Int)] = [
        ("", 400), ("{}", 400), (#"{"lifetime":1,"wakes":[]}"#, 400), (body(1001), 413),
        (body(1).replacing("apns", with: "webpush"), 400),
        (body(1).replacing("00", with: "0"), 400), (body(1).replacing("0\"", with: "G\""), 400),
        (body(1).replacing("7200", with: "2419201"), 400),
        (body(1).replacing("7200", with: #""7200""#), 400),
        (body(1).replacing(#""token""#, with: #""id":1,"token""#), 400),
    ]

    @Test("a body that is no batch is refused", arguments: wrongBodies)
    func bodies(_ body: String, _ status: Int) async throws {
        let mock = try await Self.mock()
        var parts = Parts()
        parts.body = body
        let answer = try parts.call().answer(from: mock.port)
        #expect(answer.status == status)
        #expect(
            answer.member("code")
                == (status == 413 ? "relay_batch_too_large" : "relay_batch_malformed"))
        #expect(try await mock.report().batches == 0)
    }

    @Test("answers break off, gateways stop, and lines are mangled as told")
    func faults() async throws {
        let cut = try await Self.mock("--cut-after", "2", "--cut-batches", "1")
        #expect(try Self.lines(try Parts().call(), cut) == nil)
        #expect(try Self.lines(try Parts().call(), cut)?.count == 4)
        #expect(try await cut.report().faults == ["cut": 1])

        let stopped = try await Self.mock(
            "--stop", "fcm:misconfigured:service-off", "--lines", "split")
        #expect(
            try Self.lines(try Parts().call(), stopped) == [
                #"{"wake":0,"delivery":"accepted"}"#,
                #"{"service":"fcm","stopped":"misconfigured","cause":"service-off"}"#,
                #"{"wake":2,"delivery":"accepted"}"#, #"{"done":3}"#,
            ])
        #expect(try await stopped.report().silent == 1)

        let mangled = try await Self.mock(
            "--lines", "duplicate", "--lines", "reversed", "--lines", "foreign", "--lines",
            "wrong-done", "--deliver-all", "gone")
        var parts = Parts()
        parts.body = Self.body(1)
        #expect(
            try Self.lines(try parts.call(), mangled) == [
                #"{"wake":0,"delivery":"gone"}"#, #"{"wake":0,"delivery":"gone"}"#,
                #"{"wake":1,"delivery":"gone"}"#, #"{"done":2}"#,
            ])
        #expect(try await mangled.report().gone == 1)
    }

    @Test("a relay is busy, dead or silent as told")
    func absence() async throws {
        let busy = try await Self.mock("--answer-first", "1:429:relay_busy:5")
        let answer = try Parts().call().answer(from: busy.port)
        #expect(answer.status == 429 && answer["Retry-After"] == "5")
        #expect(try Self.lines(try Parts().call(), busy)?.count == 4)
        #expect(try await busy.report().violations == ["sooner than Retry-After": 1])

        let dead = try await Self.mock("--dead", "yes")
        let client = try LoopbackClient(port: UInt16(dead.port))
        try client.send(try Parts().call().bytes)
        #expect((try? client.receiveAll()) ?? [] == [])
        #expect(try await dead.report().faults == ["dead": 1])

        let silent = try await Self.mock("--hang", "yes")
        let waiting = try LoopbackClient(port: UInt16(silent.port))
        try waiting.send(try Parts().call().bytes)
        // Its end is all that is heard of it.
        let report = try await silent.report()
        #expect(try waiting.receiveAll().isEmpty)
        #expect(report.requests <= 1)
    }
}
