import Foundation
import TestSupport
import Testing

/// Broadcasts by the built program, over TLS, to a push service that checks every request.
@Suite(
    "A broadcast reaches push services", .timeLimit(.minutes(5)),
    .enabled(if: OpenSSLCommand.isInstalled, "needs the openssl command"))
struct BroadcastTests {
    @Test("every distinct push token gets one wake-up, whatever it is registered under")
    func everyone() async throws {
        let account = try ServiceAccountFile()
        var choices = PushingService.Choices()
        choices.sections = "[fcm]\nkey = \(account.file)\n"
        let place = try await PushingService(choices)
        let devices = (0..<300).map { _ in TestDevice() }
        let shared = TestDevice()
        let copies = (0..<49).map { _ in TestDevice(push: shared.push) }
        try place.register(devices + [shared] + copies)
        let other = TestDevice()
        let fcm = Array(#"{"service":"fcm","token":"not-for-apns"}"#.utf8)
        let put = try place.service.send(
            "PUT", "/v1/registration", token: other.token, body: fcm)
        #expect(put.status == 204)
        #expect(await place.service.stop() == 0)
        try place.service.removeSection("fcm")
        try await place.service.restart()

        let (status, output) = try await place.broadcast()
        #expect(status == 0, "\(output)")
        #expect(
            output.contains(
                "pushes to 351 registrations: 301 accepted, "
                    + "49 sharing a push token with another, "
                    + "1 of a push service without a gateway\n"))
        let ended = try await place.service.program.line(containing: "broadcast-ended ")
        #expect(ended.contains(" rows=351 accepted=301 gone=0 deleted=0 "))
        #expect(ended.contains(" abandoned=0 duplicates=49 unsent=0 unserved=1"))
        let report = try await place.mock.report()
        #expect(report.distinct == 301 && report.delivered == 301)
        #expect(report.duplicates == 0 && report.providerTokens == 1)
        #expect(report.refusals == [:] && report.violations == [:])
        // The mock has compared their values with what must be: nothing else may travel.
        let expected = [
            "authorization", "apns-topic", "apns-push-type", "apns-priority", "apns-expiration",
            "content-length",
        ]
        #expect(report.fields == Dictionary(uniqueKeysWithValues: expected.map { ($0, 301) }))
        #expect(try place.registered(devices + copies + [other]).allSatisfy { $0 })
    }

    @Test("a store without registrations is broadcast to without a connection")
    func nobody() async throws {
        let place = try await PushingService()
        let (status, output) = try await place.broadcast()
        #expect(status == 0)
        #expect(output.contains("pushes to 0 registrations: 0 accepted"), "\(output)")
        #expect(try await place.mock.report().requests == 0)
    }

    @Test(
        "whatever goes wrong on the way, all 500 get their wake-up in this round",
        arguments: [
            ["--answer", "10:429:TooManyRequests"], ["--answer", "10:429:TooManyRequests:1"],
            ["--answer", "10:503:ServiceUnavailable"], ["--answer", "10:500"],
            ["--answer", "100:403:ExpiredProviderToken"],
            ["--answer", "100:429:TooManyProviderTokenUpdates"], ["--refuse-every", "50"],
            ["--reset-every", "50"],
            ["--streams", "1"],
        ])
    func faults(_ flags: [String]) async throws {
        try await deliver(500, flags)
    }

    @Test("connections that end every 100 requests lose nothing")
    func goAway() async throws {
        try await deliver(500, ["--goaway-every", "100"])
    }

    private func deliver(_ count: Int, _ flags: [String]) async throws {
        var choices = PushingService.Choices()
        choices.flags = flags
        let place = try await PushingService(choices)
        let devices = (0..<count).map { _ in TestDevice() }
        try place.register(devices)
        let (status, output) = try await place.broadcast()
        #expect(status == 0, "\(output)")
        let report = try await place.mock.report()
        #expect(report.distinct == count && report.violations == [:])
        // Only what may have arrived before it was reset can arrive twice. When its repetition is
        // reset as well, it is given up, though it has arrived.
        if flags[0] != "--reset-every" {
            #expect(output.contains("registrations: \(count) accepted\n"), "\(output)")
            #expect(report.duplicates == 0)
        }
        if flags[0] != "--streams" { #expect(!report.faults.isEmpty) }
    }

    @Test("restarts within minutes use one provider token, kept for the owner alone")
    func oneProviderToken() async throws {
        let place = try await PushingService()
        let devices = (0..<5).map { _ in TestDevice() }
        try place.register(devices)
        let kept = place.service.data + "/apns-token"
        for run in 0..<3 {
            if run == 2 {
                await place.service.kill()
            } else if run > 0 {
                #expect(await place.service.stop() == 0)
            }
            if run > 0 { try await place.service.restart() }
            let (status, output) = try await place.broadcast()
            #expect(status == 0, "\(output)")
            #expect(StorePlace.mode(of: kept) == 0o600)
        }
        let report = try await place.mock.report()
        #expect(report.delivered == 15 && report.distinct == 5)
        #expect(report.connections == 3 && report.providerTokens == 1)
    }
}
