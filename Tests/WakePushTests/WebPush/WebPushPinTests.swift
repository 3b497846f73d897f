import Foundation
import TestSupport
import Testing
import WakeFetch
import WakeModel

@testable import WakePush

@Suite(
    "Web Push goes only where it was checked",
    .enabled(if: OpenSSLCommand.isInstalled, "needs the openssl command"),
    .timeLimit(.minutes(5)))
struct WebPushPinTests {
    private let loopback = ["networks": "127.0.0.0/8"]

    @Test("a name is looked up once in a round, and its address is what is connected to")
    func pinned() async throws {
        let mock = try await MockWebPush()
        // The second answer would lead elsewhere: nobody asks for it.
        let names = NamedAddresses([
            MockWebPush.host(0): [["127.0.0.1"], ["127.9.9.9"]],
            MockWebPush.host(1): [["127.0.0.1"], ["169.254.169.254"]],
        ])
        let test = try WebPushSessionUnderTest(mock, loopback, resolver: names)
        test.round.send(try WebPushSessionUnderTest.wakeUps(0..<200, hosts: 2))
        test.round.flush(isFinal: true)
        #expect(try await test.settled(200).values.allSatisfy { $0 == .accepted })
        #expect(names.count(MockWebPush.host(0)) == 1 && names.count(MockWebPush.host(1)) == 1)
        let report = try await mock.report()
        #expect(report.hosts.count == 2 && report.requests == 200)
    }

    @Test("an address inside is refused unless its network is named, alone or among others")
    func inside() async throws {
        let mock = try await MockWebPush()
        let names = NamedAddresses([
            MockWebPush.host(0): [["127.0.0.1"]],
            MockWebPush.host(1): [["9.9.9.9", "127.0.0.1"]],
            MockWebPush.host(2): [["::ffff:127.0.0.1"]],
            MockWebPush.host(3): [["::1"]],
        ])
        let test = try WebPushSessionUnderTest(mock, resolver: names)
        test.round.send(try WebPushSessionUnderTest.wakeUps(0..<40, hosts: 4))
        test.round.flush(isFinal: true)
        let settled = try await test.settled(40)
        #expect(settled.values.allSatisfy { $0 == .retry(.endpointRefused) })
        #expect(test.failure == .misconfigured(.webPush(.addressesRefused)))
        #expect(try await mock.report().connections == 0)
    }

    @Test("a name that comes to lead inside is refused in the next round")
    func rebinding() async throws {
        let mock = try await MockWebPush()
        let names = NamedAddresses([
            MockWebPush.host(0): [["127.0.0.1"], ["127.0.0.1", "10.0.0.1"]],
            MockWebPush.host(1): [["127.0.0.1"]],
        ])
        let test = try WebPushSessionUnderTest(mock, loopback, resolver: names)
        test.round.send(try WebPushSessionUnderTest.wakeUps(0..<10, hosts: 2))
        test.round.flush(isFinal: true)
        #expect(try await test.settled(10).values.allSatisfy { $0 == .accepted })
        let reports = Observed<[GatewayReport]>([])
        let second = test.gateway.open(lifetime: 60) { report in
            reports.update { $0.append(report) }
        }
        second.send(try WebPushSessionUnderTest.wakeUps(0..<10, hosts: 2))
        second.flush(isFinal: true)
        let settled = try await reports.first { reports in
            let settled = WebPushSessionUnderTest.settled(reports)
            return settled.count == 10 ? settled : nil
        }
        for wakeUp in settled {
            let expected: Delivery =
                wakeUp.reference % 2 == 0 ? .retry(.endpointRefused) : .accepted
            #expect(wakeUp.delivery == expected)
        }
        second.cancel()
        #expect(try await mock.report().requests == 15)
    }

    @Test("an address that answers for another name has no certificate for this one")
    func otherName() async throws {
        let mock = try await MockWebPush()
        let names = NamedAddresses(["a.other.example": [["127.0.0.1"]]])
        let test = try WebPushSessionUnderTest(mock, loopback, resolver: names)
        test.round.send([try WebPushWorld.wakeUp(0, "a.other.example")])
        test.round.flush(isFinal: true)
        _ = try await test.settled(1)
        #expect(test.failure == .misconfigured(.webPush(.untrusted)))
        #expect(try await mock.report().requests == 0)
    }
}
