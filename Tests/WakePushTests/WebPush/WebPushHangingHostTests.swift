import Foundation
import TestSupport
import Testing
import WakeFetch
import WakeModel

@testable import WakePush

@Suite(
    "Web Push with hosts that hang, over real connections",
    .enabled(if: OpenSSLCommand.isInstalled, "needs the openssl command"),
    .timeLimit(.minutes(4)))
struct WebPushHangingHostTests {
    private static let isLong = ProcessInfo.processInfo.environment["REVEILLE_LONG"] != nil

    private func hosts(_ range: Range<Int>) -> String {
        range.map { MockWebPush.host($0) }.joined(separator: ",")
    }

    @Test(
        "two of twenty hang, in the handshake or after the request: the others do not notice",
        arguments: [[], ["--hang-in-handshake", "yes"]])
    func some(_ flags: [String]) async throws {
        let mock = try await MockWebPush(["--hang-hosts", hosts(0..<2)] + flags)
        let test = try WebPushSessionUnderTest(mock)
        test.round.send(try WebPushSessionUnderTest.wakeUps(0..<2000, hosts: 20))
        let settled = try await test.settled(1800)
        // None of the hanging hosts was waited for: those settle after their time-outs.
        #expect(settled.count == 1800 && settled.values.allSatisfy { $0 == .accepted })
        #expect(settled.keys.allSatisfy { $0 % 20 >= 2 })
    }

    @Test("what a host that hangs costs is its own wake-ups, settled when it is given up")
    func own() async throws {
        let mock = try await MockWebPush(["--hang-hosts", hosts(0..<1)])
        let test = try WebPushSessionUnderTest(mock, timeout: .seconds(3))
        test.round.send(try WebPushSessionUnderTest.wakeUps(0..<200, hosts: 4))
        test.round.flush(isFinal: true)
        let settled = try await test.settled(200)
        for number in 0..<200 {
            let expected: Delivery = number % 4 == 0 ? .retry(.connectionFault) : .accepted
            #expect(settled[number] == expected)
        }
        #expect(test.failure == nil)
    }

    @Test(
        "10,000 endpoints over 100 hosts, 10 of them hanging",
        .enabled(if: isLong, "takes a minute; set REVEILLE_LONG=1"))
    func whole() async throws {
        let mock = try await MockWebPush(["--hang-hosts", hosts(0..<10)])
        let test = try WebPushSessionUnderTest(mock, timeout: .seconds(10))
        test.round.send(try WebPushSessionUnderTest.wakeUps(0..<10_000, hosts: 100))
        test.round.flush(isFinal: true)
        _ = try await test.settled(9000)
        let others = ContinuousClock.now - test.begun
        let settled = try await test.settled(10_000)
        let all = ContinuousClock.now - test.begun
        for number in 0..<10_000 {
            let expected: Delivery = number % 100 < 10 ? .retry(.connectionFault) : .accepted
            #expect(settled[number] == expected)
        }
        #expect(others < .seconds(20) && all < .seconds(80))
        FileHandle.standardError.write(Data("others \(others), all \(all)\n".utf8))
    }
}
