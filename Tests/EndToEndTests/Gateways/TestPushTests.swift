import Foundation
import TestSupport
import Testing

@Suite(
    "A push that a device asks for itself", .timeLimit(.minutes(5)),
    .enabled(if: OpenSSLCommand.isInstalled, "needs the openssl command"))
struct TestPushTests {
    private static let path = "/v1/registration/wake"

    private func ask(_ service: ServiceUnderTest, _ token: String?) throws -> WireResponse {
        try service.send("POST", Self.path, token: token, body: Array("{}".utf8))
    }

    /// Returns when the push services have answered so many.
    private func wait(
        for count: Int, at service: ServiceUnderTest, isAccepted: Bool = true
    ) async throws {
        let line = "\nreveille_test_pushes_\(isAccepted ? "accepted" : "failed")_total \(count)\n"
        while true {
            let client = try LoopbackClient(path: service.directory.path + "/service/admin.sock")
            let text = try client.exchange("GET", "/metrics").body
            if String(decoding: text, as: UTF8.self).contains(line) { return }
            try Task.checkCancellation()
            await Task.yield()
        }
    }

    @Test("one goes out at once, a second one in ten minutes does not, and nothing is stored of it")
    func apns() async throws {
        let place = try await PushingService()
        let (device, other) = (TestDevice(), TestDevice())
        try place.register([device, other])
        let before = try place.tables()
        for token in [device.token, TestDevice().token] {
            let first = try ask(place.service, token)
            #expect(first.status == 202 && first.body.isEmpty)
            let second = try ask(place.service, token)
            let field = second.fields.first { $0.name.lowercased() == "retry-after" }
            let wait = field.flatMap { Int($0.value) } ?? 0
            #expect(second.status == 429 && (500...600).contains(wait))
            #expect(String(decoding: second.body, as: UTF8.self).contains("wake_too_soon"))
        }
        try await wait(for: 1, at: place.service)
        #expect(try place.tables() == before)
        #expect(await place.service.stop() == 0)
        let report = try await place.mock.report()
        #expect(report.requests == 1 && report.distinct == 1 && report.violations.isEmpty)
        for form in device.forms { #expect(!Array(place.service.program.output.utf8).holds(form)) }
    }

    @Test("a push token that is gone, or a gateway that fails, deletes nothing")
    func gone() async throws {
        let place = try await PushingService(.init("--answer-all", "410:Unregistered"))
        let device = TestDevice()
        try place.register([device])
        #expect(try ask(place.service, device.token).status == 202)
        try await wait(for: 1, at: place.service, isAccepted: false)
        #expect(try place.registered([device]) == [true])
        let stopped = try await PushingService(.init("--answer-all", "403:InvalidProviderToken"))
        try stopped.register([device])
        #expect(try ask(stopped.service, device.token).status == 202)
        try await wait(for: 1, at: stopped.service, isAccepted: false)
        _ = try await stopped.service.program.line(containing: "gateway-stopped service=apns")
        #expect(try stopped.registered([device]) == [true])
    }

    @Test("by FCM, Web Push and a relay as well")
    func others() async throws {
        let fcm = try await FCMService()
        let instances = try fcm.register(FCMService.tokens(1))
        #expect(try ask(fcm.service, instances[0]).status == 202)
        try await wait(for: 1, at: fcm.service)

        let mock = try await MockWebPush()
        let web = try await ServiceUnderTest(sections: mock.section, serving: .nothing)
        let browser = TestDevice()
        let body = #"{"service":"webpush","endpoint":"\#(MockWebPush.endpoint(1, host: 0))"}"#
        let put = try web.send(
            "PUT", "/v1/registration", token: browser.token, body: Array(body.utf8))
        #expect(put.status == 204)
        #expect(try ask(web, browser.token).status == 202)
        try await wait(for: 1, at: web)

        let owner = try await RelayOwner()
        try await owner.allow()
        let installation = try await owner.installation()
        let device = TestDevice()
        try installation.register([device])
        #expect(try ask(installation, device.token).status == 202)
        try await wait(for: 1, at: installation)
    }

    @Test("a stranger, a flood and another method get plain refusals")
    func refused() async throws {
        let place = try await PushingService()
        #expect(try ask(place.service, nil).status == 401)
        #expect(try ask(place.service, "x").status == 401)
        let get = try place.service.send("GET", Self.path, token: TestDevice().token, body: [])
        #expect(get.status == 405)
        var answers: [Int: Int] = [:]
        for _ in 0..<70 {
            answers[Int(try ask(place.service, TestDevice().token).status), default: 0] += 1
        }
        // One more a second comes meanwhile.
        #expect((60...65).contains(answers[202, default: 0]) && answers.count == 2)
        #expect(answers[503, default: 0] >= 5, "\(answers)")
    }
}
