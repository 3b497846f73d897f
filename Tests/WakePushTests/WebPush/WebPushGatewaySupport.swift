import Foundation
import Synchronization
import TestSupport
import WakeFetch
import WakeModel

@testable import WakePush

/// A session of the gateway to push services on loopback.
final class WebPushSessionUnderTest: SessionUnderTest {
    let gateway: WebPushGateway

    /// - Parameters:
    ///   - section: of the configuration, besides what leads to the mock.
    ///   - resolver: names lead where it says, and the port is the mock's; nil: everything goes to
    ///     the mock by `connect`.
    init(
        _ mock: MockWebPush, _ section: [String: String] = [:],
        resolver: NamedAddresses? = nil, limits: WebPushLimits = .init(),
        timeout: Duration = .seconds(200)
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
            configuration, resolver: resolver ?? NamedAddresses([:]), limits: limits,
            port: UInt16(mock.port), timeout: timeout)
        super.init(gateway)
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
