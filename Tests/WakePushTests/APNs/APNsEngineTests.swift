import Foundation
import Synchronization
import TestSupport
import Testing
import WakeModel
import WakeSystem

@testable import WakePush

@Suite(
    "APNs from key file to report of the service", .timeLimit(.minutes(5)),
    .enabled(if: OpenSSLCommand.isInstalled, "needs the openssl command"))
struct APNsEngineTests {
    private static let count = 3000
    private let pair: SigningKeyPair
    private let certificates: TestAuthority

    init() throws {
        pair = try SigningKeyPair()
        certificates = try TestAuthority()
    }

    /// A mock with TLS that verifies whatever there is to verify.
    private func mock(
        name: String = "localhost", days: Int = 1, _ more: [String] = []
    ) async throws -> MockPush {
        let (certificate, key) = try certificates.issue(for: name, days: days)
        return try await MockPush(
            [
                "--certificate", certificate, "--key", key, "--public-key", pair.publicPath,
                "--key-id", "ABC123DEFG", "--team-id", "TEAM123456", "--topic", "org.example.app",
            ] + more)
    }

    /// One round against the mock: every verdict, as the gateway would hear it.
    private func round(
        _ mock: MockPush, topic: String = "org.example.app", keyID: String = "ABC123DEFG",
        authority: String? = nil, count: Int = count
    ) async throws -> [Heard] {
        let section = [
            "key": pair.privatePath, "key-id": keyID, "team-id": "TEAM123456", "topic": topic,
            "host": "localhost", "port": "\(mock.port)",
            "ca": authority ?? certificates.certificate,
        ]
        let configuration = try #require(try APNsConfiguration(section: section))
        let credentials = try configuration.credentials()
        let endpoint = try #require(configuration.endpoint(.apnsSandbox))
        let now = ClockReading.system()
        let directory = try TemporaryDirectory()
        let tokens = try APNsTokenProvider(
            credentials, tokenFile: directory.path + "/apns.token")
        guard case .value(let authorization, _) = try tokens.credential(at: now) else {
            throw TestFailure("no token")
        }
        let request = APNsRequest(endpoint, topic: topic, now: now.wall, lifetime: 7200)
        let collector = Collector(count)
        let engine = try PushEngine(endpoint.engine(request.template(authorization: authorization)))
        { collector.take($0) }
        var batch = PushBatch(capacity: count, tokenBytes: 64)
        for index in 0..<count {
            let bytes =
                [UInt8](repeating: 0, count: 28)
                + (0..<4).map { UInt8(truncatingIfNeeded: index >> (24 - 8 * $0)) }
            let push = try PushToken(service: .apnsSandbox, bytes: bytes)
            push.text().withSpan { batch.append($0, reference: UInt64(index)) }
        }
        #expect(engine.submit(batch))
        return await collector.all()
    }

    enum Heard: Hashable {
        case verdict(Verdict)
        case lost
        case failed(String)
    }

    /// Gathers outcomes from the engine's thread until there are enough.
    private final class Collector: Sendable {
        private struct State {
            var heard: [Heard] = []
            var waiter: CheckedContinuation<[Heard], Never>?
        }

        private let goal: Int
        private let state = Mutex(State())

        init(_ goal: Int) { self.goal = goal }

        func take(_ outcomes: PushOutcomes) {
            let new = outcomes.results.map { result -> Heard in
                switch result.outcome {
                case .answered(let status, _, let body):
                    let bytes = Array(outcomes.bytes(of: body))
                    return .verdict(APNsResponses.verdict(status: Int(status), body: bytes.span))
                case .retry: return .lost
                case .failed(.connection(let fault)): return .failed("\(fault.name)")
                case .failed(let failure): return .failed("\(failure)")
                }
            }
            state.withLock { state in
                state.heard += new
                guard state.heard.count >= goal, let waiter = state.waiter else { return }
                state.waiter = nil
                waiter.resume(returning: state.heard)
            }
        }

        func all() async -> [Heard] {
            await withCheckedContinuation { continuation in
                state.withLock { state in
                    if state.heard.count >= goal {
                        continuation.resume(returning: state.heard)
                    } else {
                        state.waiter = continuation
                    }
                }
            }
        }
    }

    @Test("over TLS every token is received once, and nothing about a request is wrong")
    func delivered() async throws {
        let mock = try await mock()
        let heard = try await round(mock)
        #expect(heard.count == Self.count)
        #expect(Set(heard) == [.verdict(.delivery(.accepted))])
        let report = try await mock.report()
        #expect(report.distinct == Self.count)
        #expect(report.duplicates == 0)
        #expect(report.providerTokens == 1)
        #expect(report.violations.isEmpty == true)
        #expect(report.refusals.isEmpty == true)
        // Nothing travels that Apple does not ask for.
        let fields = report.fields
        #expect(
            Set(fields.keys) == [
                ":method", ":scheme", ":authority", ":path", "authorization", "apns-topic",
                "apns-push-type", "apns-priority", "apns-expiration", "content-length",
            ])
        #expect(Set(fields.values) == [Self.count])
    }

    @Test("a wrong topic or key id is the configuration's fault, and nothing is gone")
    func misconfigured() async throws {
        let cases: [(String, String, APNsFault)] = [
            ("org.example.other", "ABC123DEFG", .topicOfOthers),
            ("org.example.app", "WRONG12345", .keyRefused),
        ]
        for (topic, keyID, fault) in cases {
            let mock = try await mock()
            let heard = try await round(mock, topic: topic, keyID: keyID, count: 20)
            #expect(Set(heard) == [.verdict(.failure(.misconfigured(.apns(fault))))])
            #expect(try await mock.report().distinct == 0)
        }
    }

    @Test("an unknown authority, another name, an expired certificate: nothing is sent")
    func certificate() async throws {
        let other = try TestAuthority()
        let cases: [(String, Int, String?)] = [
            ("localhost", 1, other.certificate), ("elsewhere.example", 1, nil),
            ("localhost", 0, nil),
        ]
        for (name, days, authority) in cases {
            let mock = try await mock(name: name, days: days)
            let heard = try await round(mock, authority: authority, count: 5)
            #expect(heard.count == 5)
            for outcome in heard {
                guard case .failed(let words) = outcome else {
                    Issue.record("expected a failure, heard \(outcome)")
                    continue
                }
                #expect(words == "certificate")
            }
            #expect(try await mock.report().requests == 0)
        }
    }

    @Test("a server that does not agree on HTTP/2 is refused")
    func withoutALPN() async throws {
        let mock = try await mock(["--without-alpn", "yes"])
        let heard = try await round(mock, count: 5)
        #expect(Set(heard) == [.failed("no-http2")])
        #expect(try await mock.report().requests == 0)
    }

    @Test("bad tokens among good ones are gone, with the evidence of those accepted")
    func badTokens() async throws {
        let mock = try await mock([
            "--answer", "10:400:BadDeviceToken", "--answer", "7:410:Unregistered",
        ])
        var deliveries: [Delivery: Int] = [:]
        for heard in try await round(mock) {
            switch heard {
            case .verdict(.delivery(let delivery)), .verdict(.ambiguous(let delivery, _)):
                deliveries[delivery, default: 0] += 1
            default: break
            }
        }
        // Every tenth of 3000, and every seventh that is no tenth.
        #expect(deliveries[.invalid] == 300 && deliveries[.gone] == 428 - 42)
        #expect(deliveries[.accepted] == Self.count - 300 - 428 + 42)
        _ = try await mock.report()
    }
}
