import Foundation
import TestSupport
import Testing

/// Broadcasts by the built program through a relay, over TLS, that checks every request.
@Suite(
    "A broadcast goes through the relay of the app's owner", .timeLimit(.minutes(5)),
    .enabled(if: OpenSSLCommand.isInstalled, "needs the openssl command"))
struct RelayBroadcastTests {
    @Test("everybody is woken, in signed batches that the relay finds nothing wrong with")
    func everyone() async throws {
        let place = try await RelayUser()
        let devices = (0..<300).map { _ in TestDevice() }
        try place.register(devices)
        let (status, output) = try await place.broadcast()
        #expect(status == 0, "\(output)")
        #expect(output.contains("pushes to 300 registrations: 300 accepted"), "\(output)")
        let report = try await place.mock.report()
        #expect(report.wakes == 300 && report.distinct == 300 && report.duplicates == 0)
        // Pushes are paced: a request for what a second brings.
        #expect(report.batches < 20 && report.largestBatch <= 1000 && report.mostAtOnce <= 2)
        #expect(report.installations == 1 && report.services == ["apns": 300])
        #expect(report.refusals == [:] && report.violations == [:])
        #expect(try place.registered(devices).allSatisfy { $0 })
    }

    @Test(
        "whatever goes wrong on the way, all are woken in this round and none is lost",
        arguments: [
            ["--cut-after", "7", "--cut-batches", "1"], ["--cut-after", "0", "--cut-batches", "1"],
            ["--lines", "reversed"],
            ["--lines", "split"], ["--lines", "without-done"],
            ["--answer-first", "1:429:relay_busy:1"], ["--answer-first", "1:503"],
            ["--answer-first", "5:502"],
            ["--answer-first", "1:401:signature_stale"], ["--line-delay", "5"],
        ])
    func faults(_ flags: [String]) async throws {
        let place = try await RelayUser(flags)
        let devices = (0..<100).map { _ in TestDevice() }
        try place.register(devices)
        let (status, output) = try await place.broadcast()
        #expect(status == 0, "\(output)")
        #expect(output.contains("pushes to 100 registrations: 100 accepted"), "\(output)")
        let report = try await place.mock.report()
        #expect(report.distinct == 100 && report.violations == [:])
        #expect(try place.registered(devices).allSatisfy { $0 })
    }

    @Test("what the relay says is gone is deleted, and nothing else")
    func gone() async throws {
        let marked = (0..<4).map { _ in TestDevice(pushPrefix: [0xEE, 0xEE, 0xEE]) }
        let devices = (0..<200).map { _ in TestDevice(pushPrefix: [0x11]) }
        let place = try await RelayUser(["--gone", "eeeeee"])
        try place.register(devices + marked)
        let (status, output) = try await place.broadcast()
        #expect(status == 0, "\(output)")
        #expect(try place.registered(marked) == [false, false, false, false])
        #expect(try place.registered(devices).allSatisfy { $0 })
    }

    /// What the relay does, and what the operator reads.
    static let stops: [(flags: [String], isAllowed: Bool, words: String)] = [
        ([], false, "apns: the relay does not allow this installation"),
        (
            ["--stop", "apns:misconfigured:bad-topic"], true,
            "apns: the relay's own gateway to this push service is misconfigured"
        ),
        (
            ["--stop", "apns:misconfigured:service-off"], true,
            "apns: the relay does not wake this push service's tokens"
        ),
        (
            ["--stop", "apns:unavailable:unreachable"], true,
            "apns: the relay's own gateway to this push service cannot be used now"
        ),
        (
            ["--authority", "other.example.org"], true, "apns: the relay refused the signature"
        ),
        (["--answer-all", "404"], true, "apns: there is no relay at this address"),
    ]

    @Test("a relay that cannot be used is said, and nothing is deleted", arguments: stops.indices)
    func stopped(_ index: Int) async throws {
        let stop = Self.stops[index]
        let place = try await RelayUser(stop.flags, isAllowed: stop.isAllowed)
        let devices = (0..<50).map { _ in TestDevice() }
        try place.register(devices)
        let (status, output) = try await place.broadcast()
        #expect(status != 0)
        #expect(output.contains(stop.words) && output.contains("hint: "), "\(output)")
        #expect(try place.registered(devices).allSatisfy { $0 })
        // Neither the relay nor the key is anybody's business who reads logs.
        let log = place.service.program.output
        #expect(!log.contains(RelayUser.publicKey) && !log.contains(place.mock.url))
    }

    @Test("check prints the relay and the key to allow, and what is wrong with them")
    func check() async throws {
        let keys = try TemporaryDirectory()
        let key = try RelayUser.writeKey(in: keys)
        let root = keys.path + "/service"
        #expect(try await RunningProgram.run("reveille", ["init", root]).status == 0)
        let path = root + "/reveille.conf"
        let text = try String(contentsOfFile: path, encoding: .utf8)
            .replacing("listen = 127.0.0.1:8080", with: "listen = 127.0.0.1:0")
        func check(_ section: String) async throws -> (status: Int32, output: String) {
            try (text + "\n" + section).write(toFile: path, atomically: true, encoding: .utf8)
            return try await RunningProgram.run("reveille", ["check", "--config", path])
        }
        let relay = "via = https://wake.example.org\nvia-key = \(key)\n"
        let (status, output) = try await check("[apns]\n\(relay)[fcm]\n\(relay)")
        let words = "on, via https://wake.example.org, key \(RelayUser.publicKey)\n"
        #expect(status == 0, "\(output)")
        for service in ["apns            ", "apns-sandbox    ", "fcm             "] {
            #expect(output.contains(service + words), "\(output)")
        }
        let both = try await check("[apns]\n\(relay)topic = org.example.app\n")
        #expect(both.status == 78 && both.output.contains("[apns] has both via and topic"))
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: key)
        let open = try await check("[fcm]\n\(relay)")
        #expect(open.status == 78)
        #expect(open.output.contains("problem: [fcm] via-key: the file can be read by others"))
    }
}
