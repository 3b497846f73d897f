import TestSupport
import Testing
import WakeModel
import WakeSystem

@testable import WakePush

@Suite(
    "A gateway's round against an FCM on loopback", .timeLimit(.minutes(5)),
    .enabled(if: OpenSSLCommand.isInstalled, "needs the openssl command"))
struct FCMGatewayTests {
    private static func body(_ text: String) -> [UInt8] { Array(text.utf8) }

    @Test("every wake-up is sent once in the documented form, with one access token")
    func accepted() async throws {
        let service = try EngineServer { _, _ in
            .answer(200, body: Self.body(#"{"name":"projects/p/messages/1"}"#))
        }
        defer { service.stop() }
        let tokens = try FCMTokenServer()
        let test = try FCMSessionUnderTest(service, tokens)
        test.round.send(try FCMSessionUnderTest.wakeUps(0..<2000))
        test.round.flush(isFinal: true)
        let settled = try await test.settled(2000)
        #expect(settled.count == 2000 && settled.values.allSatisfy { $0 == .accepted })
        let numbers = service.bodies.compactMap(FCMSessionUnderTest.number)
        #expect(numbers.sorted() == Array(0..<2000))
        #expect(service.paths == [Array("/v1/projects/example-project/messages:send".utf8): 2000])
        #expect(Set(service.credentials) == [Array("Bearer token-1".utf8)])
        #expect(tokens.requests.count == 1 && test.failure == nil)
        let request = try #require(tokens.requests.first)
        #expect(request.method == "POST" && request.path == "/token")
        #expect(request["content-type"] == "application/x-www-form-urlencoded")
        let form = String(decoding: request.body, as: UTF8.self)
        let start = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=eyJ"
        #expect(form.hasPrefix(start))
        tokens.stop()
    }

    @Test("the access token is told of when it is there: no wake-up waits for the next look")
    func told() async throws {
        let service = try EngineServer()
        defer { service.stop() }
        let tokens = try FCMTokenServer()
        // Without ticks nobody looks again.
        let test = try FCMSessionUnderTest(service, tokens, ticks: false)
        test.round.send(try FCMSessionUnderTest.wakeUps(0..<100))
        test.round.flush(isFinal: true)
        let settled = try await test.settled(100)
        #expect(settled.count == 100 && test.failure == nil)
        tokens.stop()
    }

    @Test("each wake-up is settled by its own answer, and none of a stranger stops the round")
    func mixed() async throws {
        let service = try EngineServer { _, body in
            guard let number = FCMSessionUnderTest.number(body) else { return .status(418) }
            return switch number % 10 {
            case 1: .answer(404, body: Self.body(FCMBody.fcm("UNREGISTERED", 404)))
            case 2: .answer(400, body: Self.body(FCMBody.fcm("INVALID_ARGUMENT", 400)))
            case 3: .answer(403, body: Self.body(FCMBody.fcm("SENDER_ID_MISMATCH", 403)))
            case 4: .answer(401, body: Self.body(FCMBody.fcm("THIRD_PARTY_AUTH_ERROR", 401)))
            case 5: .answer(400, body: Self.body(FCMBody.plain("INVALID_ARGUMENT", 400)))
            case 6: .answer(404, body: Self.body(FCMBody.plain("NOT_FOUND", 404)))
            default: .answer(200, body: Self.body("{}"))
            }
        }
        defer { service.stop() }
        let tokens = try FCMTokenServer()
        let test = try FCMSessionUnderTest(service, tokens)
        test.round.send(try FCMSessionUnderTest.wakeUps(0..<100))
        test.round.flush(isFinal: true)
        let settled = try await test.settled(100)
        #expect(settled.count == 100 && test.failure == nil)
        for (reference, delivery) in settled {
            let expected: Delivery =
                switch reference % 10 {
                case 1: .gone
                case 2: .invalid
                case 3...6: .retry(.unknownRefusal)
                default: .accepted
                }
            #expect(delivery == expected)
        }
        tokens.stop()
    }

    /// The target's field and value in the body of a request.
    private static func target(_ body: [UInt8]) -> (field: String, value: String)? {
        let message = (try? JSONValue(parsing: body))?["message"] ?? .null
        return ["token", "fid"].map { ($0, message[$0].text) }.first { !$0.1.isEmpty }
    }

    @Test(
        "a field that is refused is no verdict: the other one is tried once, and that is believed",
        arguments: [
            FCMBody.both("message.fid"), FCMBody.both("message.token"),
            FCMBody.badRequest("message.fid"), FCMBody.fcm("INVALID_ARGUMENT", 400),
        ])
    func retargeted(_ refusal: String) async throws {
        // Of ten, one is known in neither field, one only where it is not expected.
        let service = try EngineServer { _, body in
            guard let (field, value) = Self.target(body) else { return .status(418) }
            let isExpected = (field == "fid") == (value.utf8.count == 22)
            let isKnown = value.hasSuffix("1") ? false : value.hasSuffix("2") != isExpected
            return isKnown ? .status(200) : .answer(400, body: Self.body(refusal))
        }
        defer { service.stop() }
        let tokens = try FCMTokenServer()
        let test = try FCMSessionUnderTest(service, tokens)
        test.round.send(
            try (0..<100).map { number in
                let id = number < 50 ? "installation-id-of-\(100 + number)" : "token:\(number)"
                return WakeUp(
                    reference: number, token: try PushToken(service: .fcm, bytes: Self.body(id)))
            })
        test.round.flush(isFinal: true)
        let settled = try await test.settled(100)
        #expect(test.failure == nil && service.requests == 120)
        #expect(settled.count == 100)
        for (number, delivery) in settled {
            #expect((delivery == .accepted) == (number % 10 != 1), "\(number)")
        }
        tokens.stop()
    }

    @Test("what is broken for a moment is tried again, with the wait asked for")
    func retried() async throws {
        let service = try EngineServer { number, _ in
            number <= 20
                ? .answer(503, retryAfter: 1, body: Self.body(FCMBody.fcm("UNAVAILABLE", 503)))
                : .status(200)
        }
        defer { service.stop() }
        let tokens = try FCMTokenServer()
        let test = try FCMSessionUnderTest(service, tokens)
        test.round.send(try FCMSessionUnderTest.wakeUps(0..<50))
        test.round.flush(isFinal: true)
        let settled = try await test.settled(50)
        #expect(settled.count == 50 && settled.values.allSatisfy { $0 == .accepted })
        #expect(service.requests == 70)
        tokens.stop()
    }

    @Test(
        "answers that blame the gateway stop it, and nothing is gone",
        arguments: [
            (403, FCMBody.plain("PERMISSION_DENIED", 403), FCMFault.forbidden),
            (403, FCMBody.fcm("SENDER_ID_MISMATCH", 403), .tokensOfOtherProject),
            (401, FCMBody.plain("UNAUTHENTICATED", 401), .tokenRefused),
            (404, FCMBody.plain("NOT_FOUND", 404), .projectUnknown),
            (400, FCMBody.fcm("INVALID_ARGUMENT", 400), .tokensRefused),
            (400, FCMBody.badRequest("message.data"), .requestRefused(status: 400)),
        ])
    func misconfigured(_ status: Int, _ body: String, _ fault: FCMFault) async throws {
        let service = try EngineServer { _, _ in
            .answer(UInt16(status), body: Self.body(body))
        }
        defer { service.stop() }
        let tokens = try FCMTokenServer()
        let test = try FCMSessionUnderTest(service, tokens)
        test.round.send(try FCMSessionUnderTest.wakeUps(0..<20))
        test.round.flush(isFinal: true)
        let settled = try await test.settled(1)
        #expect(settled.isEmpty && test.failure == .misconfigured(.fcm(fault)))
        tokens.stop()
    }

    @Test("an account that is refused stops the gateway before anything is sent")
    func grantRefused() async throws {
        let service = try EngineServer()
        defer { service.stop() }
        let tokens = try FCMTokenServer { _ in
            (400, #"{"error":"invalid_grant","error_description":"Invalid JWT Signature."}"#)
        }
        let test = try FCMSessionUnderTest(service, tokens)
        test.round.send(try FCMSessionUnderTest.wakeUps(0..<20))
        _ = try await test.settled(1)
        #expect(test.failure == .misconfigured(.fcm(.grantRefused)))
        #expect(service.connections == 0 && tokens.requests.count == 3)
        tokens.stop()
    }

    @Test("an exchange that fails is tried again, and the round goes on with its token")
    func exchangeFails() async throws {
        let service = try EngineServer()
        defer { service.stop() }
        let tokens = try FCMTokenServer { number in
            number == 1 ? (503, "") : FCMTokenServer.token(number)
        }
        let test = try FCMSessionUnderTest(service, tokens)
        test.round.send(try FCMSessionUnderTest.wakeUps(0..<20))
        test.round.flush(isFinal: true)
        let settled = try await test.settled(20)
        #expect(settled.count == 20 && test.failure == nil)
        #expect(Set(service.credentials) == [Array("Bearer token-2".utf8)])
        tokens.stop()
    }

    @Test("many who ask at once cause one exchange, and get one token with one serial")
    func oneExchange() async throws {
        let tokens = try FCMTokenServer()
        let file = try ServiceAccountFile(tokenURI: tokens.uri)
        let account = try FCMTokenProvider(try file.credentials())
        let now = ClockReading.system()
        for _ in 0..<100 {
            guard case .wait = try account.credential(at: now) else { break }
        }
        var value: [UInt8]?
        while value == nil {
            try Task.checkCancellation()
            if case .value(let bytes, serial: 1) = try account.credential(at: now) {
                value = bytes
            }
            await Task.yield()
        }
        #expect(value == Array("Bearer token-1".utf8))
        #expect(tokens.requests.count == 1)
        tokens.stop()
    }
}
