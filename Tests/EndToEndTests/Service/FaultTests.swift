import Foundation
import TestSupport
import Testing
import WakeModel
import WakeSystem

@Suite("A client whose service fails", .timeLimit(.minutes(5)))
struct FaultTests {
    private static let isLong = ProcessInfo.processInfo.environment["REVEILLE_LONG"] != nil

    @Test("HTTP 500 is not success: told so three times, it ends with exactly one row")
    func serverErrors() async throws {
        let service = try await ServiceUnderTest()
        let front = try FaultyFront(to: service.port)
        let client = try await ClientUnderTest(of: service, at: front.url)
        let device = TestDevice()
        front.plan("PUT", [.answered(500), .answered(500), .answered(500)])
        for _ in 0..<3 {
            #expect(try await client.register(device) == 75)
            #expect(try await client.status("registration") == "\"registering\"")
            #expect(try service.rows() == 0)
        }
        #expect(try await client.register(device) == 0)
        #expect(try await client.status("registration") == "\"registered\"")
        try await expectOneRow(of: device, front, service)
    }

    @Test("answers of 500 to a client that runs: it registers by itself, with exactly one row")
    func backOff() async throws {
        let service = try await ServiceUnderTest()
        let front = try FaultyFront(to: service.port)
        let client = try await ClientUnderTest(of: service, at: front.url)
        let device = TestDevice()
        let failures = Self.isLong ? 3 : 1
        front.plan("PUT", Array(repeating: .answered(500), count: failures))
        #expect(try await client.register(device) == 75)
        let running = try client.start("run", "--verbose")
        // The first wait is at most 30 s, the second 60 s, the third 120 s.
        _ = try await running.line(containing: "reveille-client: registered")
        #expect(try await client.status("registration") == "\"registered\"")
        running.signal(SIGTERM)
        #expect(await running.exit() == 0)
        #expect(front.requests.count { $0.method == "PUT" } == failures + 1)
        try await expectOneRow(of: device, front, service)
    }

    @Test("the answer to a PUT is lost: the next attempt leaves exactly one row")
    func lostAnswer() async throws {
        let service = try await ServiceUnderTest()
        let front = try FaultyFront(to: service.port)
        let client = try await ClientUnderTest(of: service, at: front.url)
        let device = TestDevice()
        front.plan("PUT", [.answerLost, .answerLost])
        #expect(try await client.register(device) == 75)
        // The service has the row, the client does not know.
        #expect(try service.rows() == 1)
        #expect(try await client.register(device) == 75)
        #expect(try await client.register(device) == 0)
        try await expectOneRow(of: device, front, service)
    }

    @Test("the answer to a DELETE is lost: the client goes on until it has one, and nothing stays")
    func lostErasure() async throws {
        let service = try await ServiceUnderTest()
        let front = try FaultyFront(to: service.port)
        let client = try await ClientUnderTest(of: service, at: front.url)
        #expect(try await client.register(TestDevice()) == 0)
        let instance = try #require(front.instanceToken)
        front.plan("DELETE", [.answerLost])
        #expect(try await client.command("unregister").status == 75)
        // Not acknowledged: the token is still needed.
        #expect(try client.files(containing: [instance.bytes]) != [])
        #expect(try await client.command("unregister").status == 0)
        #expect(try client.files(containing: instance.forms) == [])
        #expect(try service.rows() == 0)
    }

    @Test("unregistering while offline is kept up by run and succeeds by itself")
    func offline() async throws {
        let service = try await ServiceUnderTest()
        let front = try FaultyFront(to: service.port)
        let client = try await ClientUnderTest(of: service, at: front.url)
        let device = TestDevice()
        #expect(try await client.register(device) == 0)
        let instance = try #require(front.instanceToken)
        front.disconnect()
        #expect(try await client.command("unregister").status == 75)
        #expect(try await client.status("registration") == "\"unregistering\"")
        #expect(try service.rows() == 1)
        let running = try client.start("run", "--verbose")
        _ = try await running.line(containing: "cycle failed: network")
        try front.reconnect()
        // Within the first wait of at most 30 s.
        _ = try await running.line(containing: "reveille-client: unregistered")
        running.signal(SIGTERM)
        #expect(await running.exit() == 0)
        #expect(try await client.status("registration") == "\"none\"")
        #expect(try service.rows() == 0)
        #expect(try client.files(containing: device.forms + instance.forms) == [])
        #expect(try service.files(containing: device.forms + instance.forms) == [])
    }

    @Test("unregistering while offline survives restarts; asked again online, it is done at once")
    func offlineRestarts() async throws {
        let service = try await ServiceUnderTest()
        let front = try FaultyFront(to: service.port)
        let client = try await ClientUnderTest(of: service, at: front.url)
        #expect(try await client.register(TestDevice()) == 0)
        front.disconnect()
        #expect(try await client.command("unregister").status == 75)
        #expect(try await client.command("sync").status == 75)
        #expect(try await client.status("registration") == "\"unregistering\"")
        #expect(try await client.command("forget").status == 1)
        try front.reconnect()
        #expect(try await client.command("unregister").status == 0)
        #expect(try service.rows() == 0)
        #expect(try await client.command("forget").status == 0)
        #expect(try client.files().isEmpty)
    }

    @Test(
        "a new push token while the answer to the old one is out ends as one row with the new one")
    func superseded() async throws {
        let service = try await ServiceUnderTest()
        let front = try FaultyFront(to: service.port)
        let client = try await ClientUnderTest(of: service, at: front.url)
        let (old, new) = (TestDevice(), TestDevice())
        front.plan("PUT", [.answerLost])
        #expect(try await client.register(old) == 75)
        #expect(try await client.register(new) == 0)
        try await expectOneRow(of: new, front, service)
        #expect(try client.files(containing: old.forms) == [])
    }

    @Test("the service is killed and comes back: a registered client changes nothing")
    func serviceCrash() async throws {
        let service = try await ServiceUnderTest()
        let client = try await ClientUnderTest(of: service)
        #expect(try await client.register(TestDevice()) == 0)
        await service.kill()
        #expect(try await client.command("sync").status == 75)
        try await service.restart()
        #expect(try service.rows() == 1)
        #expect(try await client.status("registration") == "\"registered\"")
    }

    /// One row, and it is the one of this device under the instance token the client sent.
    private func expectOneRow(
        of device: TestDevice, _ front: FaultyFront, _ service: ServiceUnderTest
    ) async throws {
        let tokens = Set(front.requests.compactMap { $0["Authorization"] })
        #expect(tokens.count == 1)
        let instance = try #require(front.instanceToken)
        let answer = try service.send("GET", "/v1/registration", token: instance.text)
        let stored = try #require(try RegistrationResponse.decode(answer.body).stored)
        #expect(stored.token.bytes.copy() == device.push)
        #expect(await service.stop() == 0)
        #expect(try service.rows() == 1)
    }
}
