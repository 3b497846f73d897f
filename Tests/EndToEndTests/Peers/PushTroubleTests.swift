import Foundation
import TestSupport
import Testing

/// Whatever trouble a push service is in: the broadcast ends, the other gateway wakes its devices
/// meanwhile, no push token has more than two pushes, and nobody is lost. By peers that are not
/// ours.
@Suite(
    "Push services in trouble", .serialized, .timeLimit(.minutes(20)),
    .enabled(if: OpenSSLCommand.isInstalled, "needs the openssl command"),
    .enabled(if: PushPythonPeer.isInstalled, "needs python3 with h2"))
struct PushTroubleTests {
    private static let isLong = ProcessInfo.processInfo.environment["REVEILLE_LONG"] != nil

    struct Case: CustomTestStringConvertible {
        let trouble: PushPythonPeer.Trouble
        var number = 0.0
        /// Whether all are woken in the broadcast itself.
        let wakes: Bool
        var testDescription: String { "\(trouble.rawValue) \(number)" }
    }

    private static let short: [Case] = [
        Case(trouble: .stray, number: 700, wakes: true),
        Case(trouble: .refuse, wakes: false), Case(trouble: .cut, wakes: false),
        Case(trouble: .late, number: 11, wakes: true),
    ]
    private static let long: [Case] = [
        Case(trouble: .late, number: 40, wakes: true), Case(trouble: .never, wakes: false),
        Case(trouble: .ping, wakes: false), Case(trouble: .streams, wakes: false),
        Case(trouble: .window, wakes: false), Case(trouble: .throttle, wakes: false),
        Case(trouble: .down, number: 75, wakes: true),
    ]

    @Test(
        "one in trouble costs its own devices at most, none of them two repetitions",
        arguments: isLong ? short + long : short)
    func trouble(_ now: Case) async throws {
        let count = now.trouble == .stray ? 3000 : 300
        let bad = try await PushPythonPeer(now.trouble, now.number)
        let good = try await PushPythonPeer()
        let pair = try SigningKeyPair()
        let service = try await ServiceUnderTest(
            sections: bad.apns(pair) + good.fcm
                + "[broadcast]\nheartbeat = off\nfetches-per-second = 0\n",
            serving: .nothing, environment: good.environment)
        let devices = (0..<count).map { _ in TestDevice() }
        try service.register(devices)
        for number in 0..<count { try Self.register("fcm-\(number):APA91b", service) }

        let start = ContinuousClock.now
        let broadcast = try RunningProgram(
            "reveille", ["broadcast", "--force", "--config", service.configuration])
        while try good.report().woken < count {
            try Task.checkCancellation()
            await Task.yield()
        }
        let others = ContinuousClock.now - start
        if !now.wakes, try bad.report().woken < count {
            // What it cannot do now waits for its end, by itself or by the operator.
            let end = try await RunningProgram.run(
                "reveille", ["broadcast", "--stop", "--config", service.configuration])
            #expect(end.status == 0, "\(end.output)")
        }
        let (_, output) = await broadcast.finished()
        let time = ContinuousClock.now - start
        let report = try bad.report()
        print("\(now.testDescription): others \(others), all \(time), \(report)")
        #expect(report.most <= 2, "\(report)")
        if now.wakes { #expect(report.woken == count, "\(report) \(output)") }
        #expect(try service.registered(devices).allSatisfy { $0 })
        #expect(try good.report().most == 1)
    }

    private static func register(_ token: String, _ service: ServiceUnderTest) throws {
        let body = Array(#"{"service":"fcm","token":"\#(token)"}"#.utf8)
        let put = try service.send("PUT", "/v1/registration", token: TestDevice().token, body: body)
        guard put.status == 204 else { throw TestFailure(put.text) }
    }
}
