import TestSupport
import Testing

/// What a push service calls gone is forgotten, and nothing else ever is.
@Suite(
    "A broadcast forgets what is gone", .timeLimit(.minutes(5)),
    .enabled(if: OpenSSLCommand.isInstalled, "needs the openssl command"))
struct BroadcastGoneTests {
    /// Push tokens that begin so get an answer of the mock's own; all others begin with zeros.
    private static let marked: [UInt8] = [0xDE, 0xAD]

    private func devices(_ count: Int, marked: Bool) -> [TestDevice] {
        (0..<count).map { _ in TestDevice(pushPrefix: marked ? Self.marked : [0, 0]) }
    }

    @Test(
        "registrations whose push token is gone are deleted, and no others",
        arguments: ["410:Unregistered", "410:ExpiredToken", "400:BadDeviceToken"])
    func gone(_ answer: String) async throws {
        let place = try await PushingService(.init("--answer-token", "dead:" + answer))
        let kept = devices(100, marked: false)
        let gone = devices(4, marked: true)
        try place.register(kept + gone)
        let (status, output) = try await place.broadcast()
        #expect(status == 0, "\(output)")
        #expect(output.contains("104 registrations: 100 accepted, 4 gone, 4 forgotten for it\n"))
        #expect(try place.registered(kept).allSatisfy { $0 })
        #expect(try !place.registered(gone).contains(true))
        #expect(try place.service.rows() == 100)
        // Not a byte of them is left, of whatever form.
        #expect(try place.service.files(containing: gone.flatMap(\.forms)) == [])

        let second = try await place.broadcast()
        #expect(second.output.contains("100 registrations: 100 accepted\n"))
    }

    @Test("a round in which every push token is refused as bad deletes nothing and says why")
    func allBad() async throws {
        let place = try await PushingService(.init("--answer-all", "400:BadDeviceToken"))
        try place.register(devices(200, marked: false))
        let before = try place.tables()
        let (status, output) = try await place.broadcast()
        #expect(status == 1)
        #expect(
            output.contains(
                "pushes to 200 registrations: 0 accepted, 200 not sent\n"))
        #expect(output.contains("reveille: apns: every push token was refused as bad\nhint: "))
        _ = try await place.service.program.line(
            containing: "gateway-stopped service=apns reason=tokens-of-other-environment")
        #expect(try place.tables() == before)
        #expect(try place.service.rows() == 200)
    }

    @Test("one accepted push token does not make hundreds of bad ones believed: a wrong topic")
    func mostlyBad() async throws {
        let place = try await PushingService(
            .init("--answer-token", "dead:400:DeviceTokenNotForTopic"))
        try place.register(devices(1, marked: false) + devices(400, marked: true))
        for round in 1...3 {
            let (status, output) = try await place.broadcast()
            #expect(status == (round < 3 ? 1 : 0), "\(output)")
            #expect(try place.service.rows() == (round < 3 ? 401 : 1))
            guard round < 3 else { break }
            #expect(output.contains("1 accepted, 400 gone\n"), "\(output)")
            _ = try await place.service.program.line(
                containing: "deletion-breaker-tripped service=apns")
            _ = try await place.service.program.line(containing: "trouble kind=breaker-tripped")
        }
    }

    @Test("renewed or deleted while its wake-up is in flight, a registration stays so")
    func inFlight() async throws {
        let held = try HeldAnswers()
        let place = try await PushingService(.init(held, "--answer-token", "dead:410:Unregistered"))
        let gone = devices(3, marked: true)
        let renewed = devices(3, marked: true)
        let deleted = devices(3, marked: true)
        try place.register(devices(191, marked: false) + gone + renewed + deleted)
        let program = try place.startBroadcast()
        // All have been read and handed over; no answer can have come.
        let begun = try await place.round { $0.run == 1 && $0.rows == 200 }
        #expect(begun.running && begun.gone == 0)
        try place.register(renewed)
        for device in deleted {
            let answer = try place.service.send(
                "DELETE", "/v1/registration", token: device.token)
            #expect(answer.status == 204)
        }
        #expect(try place.round().gone == 0)
        try held.release()
        let (status, output) = await program.finished()
        #expect(status == 0, "\(output)")
        #expect(output.contains("200 registrations: 191 accepted, 9 gone, "))
        #expect(try place.registered(renewed).allSatisfy { $0 })
        #expect(try !place.registered(gone + deleted).contains(true))
        #expect(try place.service.rows() == 194)
    }
}
