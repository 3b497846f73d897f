import Foundation
import TestSupport
import Testing
import WakeModel
import WakeSystem

@Suite("A client whose service fails", .timeLimit(.minutes(5)))
struct FaultTests {
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
