import Dispatch
import Foundation
import Synchronization
import TestSupport
import WakeFetch
import WakeModel

@testable import WakePush

/// A gateway to push services on loopback, with what its round reported and a timer for its time.
final class WebPushRoundUnderTest {
    let reports: Observed<[GatewayReport]>
    let gateway: WebPushGateway
    let round: any GatewayRound
    let begun = ContinuousClock.now
    private let timer: any DispatchSourceTimer

    /// - Parameters:
    ///   - section: of the configuration, besides what leads to the mock.
    ///   - resolver: names lead where it says, and the port is the mock's; nil: everything goes to
    ///     the mock by `connect`.
    init(
        _ mock: MockWebPush, _ section: [String: String] = [:],
        resolver: NamedAddresses? = nil, bounds: WebPushFlow.Bounds = .init(),
        timeout: Duration = .seconds(10)
    ) throws {
        var keys = [
            "key": mock.keyPath, "hosts": "any", "ca": mock.authority,
            "subject": "mailto:push@example.org",
        ]
        if resolver == nil { keys["connect"] = "127.0.0.1:\(mock.port)" }
        keys.merge(section) { $1 }
        guard let configuration = try WebPushConfiguration(section: keys) else {
            throw TestFailure("a section is a configuration")
        }
        gateway = try WebPushGateway(
            configuration, resolver: resolver ?? NamedAddresses([:]), bounds: bounds,
            port: UInt16(mock.port), timeout: timeout)
        let reports = Observed<[GatewayReport]>([])
        self.reports = reports
        let round = gateway.open(lifetime: 7200) { report in
            reports.update { $0.append(report) }
        }
        self.round = round
        timer = DispatchSource.makeTimerSource()
        timer.schedule(deadline: .now(), repeating: .milliseconds(50))
        timer.setEventHandler { [weak round] in round?.tick() }
        timer.resume()
    }

    deinit {
        timer.cancel()
        round.stop()
    }

    var failure: GatewayFailure? { Self.failure(reports.value) }

    /// Waits until so many are settled, or the gateway has failed.
    func settled(_ count: Int) async throws -> [Int: Delivery] {
        try await reports.first { reports in
            let settled = Self.settled(reports)
            guard settled.count >= count || Self.failure(reports) != nil else { return nil }
            return Dictionary(uniqueKeysWithValues: settled.map { ($0.reference, $0.delivery) })
        }
    }

    static func settled(_ reports: [GatewayReport]) -> [SettledWakeUp] {
        reports.flatMap { report -> [SettledWakeUp] in
            if case .settled(let wakeUps) = report { wakeUps } else { [] }
        }
    }

    private static func failure(_ reports: [GatewayReport]) -> GatewayFailure? {
        for case .failed(let failure) in reports { return failure }
        return nil
    }

    /// Wake-ups to endpoints that are their numbers, over so many hosts.
    static func wakeUps(_ references: Range<Int>, hosts: Int = 1) throws -> [WakeUp] {
        try references.map { number in
            let endpoint = MockWebPush.endpoint(number, host: number % hosts)
            return WakeUp(
                reference: number,
                token: try PushToken(service: .webPush, bytes: Array(endpoint.utf8)))
        }
    }
}

/// Names and what they lead to, look-up by look-up; the last holds for all that follow.
final class NamedAddresses: HostResolver {
    private let answers: [String: [[String]]]
    private let asked = Mutex<[String: Int]>([:])

    init(_ answers: [String: [[String]]]) { self.answers = answers }

    func count(_ name: String) -> Int { asked.withLock { $0[name] ?? 0 } }

    func addresses(of host: [UInt8]) async throws(ResolveError) -> [IPAddress] {
        let name = String(decoding: host, as: UTF8.self)
        let number = asked.withLock { asked in
            asked[name, default: 0] += 1
            return asked[name] ?? 0
        }
        guard let rows = answers[name], let last = rows.last else { throw .notFound }
        return (number <= rows.count ? rows[number - 1] : last).compactMap { IPAddress($0) }
    }
}
