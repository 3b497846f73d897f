import TestSupport
import Testing
import WakeModel
import WakePush
import WakeSystem

@testable import WakeServer

@Suite("The history of broadcasts on disk")
struct BroadcastHistoryTests {
    private static let boot = (0..<16).map { UInt8($0 * 16) }
    private static let now = ClockReading(wall: 1_800_000_000, uptime: 86_400, boot: boot)

    private static let members = #"""
        "sequence":1842,"run":17,"seen":{"uptime":86400,"wall":1800000000,"boot":"\#
        00102030405060708090a0b0c0d0e0f0"},"ends":[-71,78300,85500],"running":false,\#
        "stopped":true,"pending":6,"heartbeat":{"interval":7200,"due":90000,"end":92400}
        """#

    private static var history: BroadcastHistory {
        var history = BroadcastHistory(now)
        history.sequence = 1842
        history.run = 17
        history.ends = [-71, 78_300, 85_500]
        history.isStopped = true
        history.pending = [.asked, .watched]
        history.heartbeat = .init(interval: 7200, due: 90_000, end: 92_400)
        return history
    }

    private func decode(_ members: String) throws(StateFileFault) -> BroadcastHistory {
        try BroadcastHistory(stateFile: sealedState(BroadcastHistory.self, members))
    }

    @Test("the members are the documented ones, both ways")
    func vector() throws {
        #expect(Self.history.stateFile() == sealedState(BroadcastHistory.self, Self.members))
        #expect(try decode(Self.members) == Self.history)
    }

    @Test(
        "members that no schedule writes are damage, also with a correct checksum",
        arguments: [
            (#""sequence":1842"#, #""sequence":-1"#),
            (#""sequence":1842"#, #""sequence":18446744073709551616"#),
            (#""run":17"#, #""run":"17""#), (#""run":17"#, #""run":18446744073709551615"#),
            (#""uptime":86400"#, #""uptime":-1"#),
            (#""uptime":86400"#, #""uptime":9007199254740993"#), ("00102030", "0010203"),
            ("a0b0c0d0e0f0", "A0B0C0D0E0F0"), ("[-71,", "[78301,"), ("85500", "86401"),
            ("[-71,", "[1,2,-71,"), ("[-71,", "[-99999999999999999999,"),
            (#""running":false"#, #""running":0"#), (#""pending":6"#, #""pending":8"#),
            (#""interval":7200"#, #""interval":1199"#),
            (#""interval":7200"#, #""interval":604801"#),
            ("90000", "85199"), ("90000", "92400"), (#""due":90000,"end":92400"#, #""due":90000"#),
            (#""due":90000,"end":92400"#, #""due":100000,"end":100801"#),
        ])
    func implausible(_ part: String, _ other: String) {
        let members = Self.members.replacing(part, with: other)
        #expect(members != Self.members)
        #expect(throws: StateFileFault.damaged) { try decode(members) }
    }

    @Test("running without any run is damage")
    func runningWithout() {
        let members = Self.members.replacing("[-71,78300,85500]", with: "[]")
        #expect(throws: Never.self) { try decode(members) }
        #expect(throws: StateFileFault.damaged) {
            try decode(members.replacing(#""running":false"#, with: #""running":true"#))
        }
    }

    @Test("whatever digits are changed: what is read is written the same, and delays by an hour")
    func mutations() throws {
        var random = SplitMix64(seed: 1)
        let bytes = Array(Self.members.utf8)
        let places = bytes.indices.filter { bytes[$0].isDigit }
        var read = 0
        for _ in 0..<10_000 {
            var changed = bytes
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let place = places[Int.random(in: places.indices, using: &random)]
                changed[place] = UInt8.random(in: 0x30...0x39, using: &random)
            }
            let members = String(decoding: changed, as: UTF8.self)
            guard let history = try? decode(members) else { continue }
            read += 1
            #expect(history.stateFile() == sealedState(BroadcastHistory.self, members))
            var schedule = BroadcastSchedule(
                heartbeatSeconds: 7200, history: history, now: Self.now, using: &random)
            if schedule.history.isRunning { schedule.ended(now: Self.now) }
            let asked = schedule.ask(sequence: .max, force: true, now: Self.now)
            guard case .waits(let seconds) = asked else {
                Issue.record("refused")
                continue
            }
            #expect((0...3601).contains(seconds ?? -1))
        }
        #expect(read > 500)
    }

    @Test("rates that no broadcast has are damage")
    func learnt() throws {
        func members(_ numbers: String) -> String {
            Self.members.replacing(#","heartbeat""#, with: numbers + #","heartbeat""#)
        }
        let history = try decode(members(#","rates":[667,-1,-1,-1]"#))
        #expect(history.learnt.rates == [.apns: 667])
        for numbers in [
            #","rates":[0,-1,-1,-1]"#, #","rates":[667,-1,-1]"#, #","rates":[-1,-1,-1,-1]"#,
            #","rates":[1000000001,-1,-1,-1]"#,
        ] {
            #expect(throws: StateFileFault.damaged) { try decode(members(numbers)) }
        }
    }

    @Test("any schedule's history reads back as it was written")
    func roundTrip() throws {
        var random = SplitMix64(seed: 2)
        for _ in 0..<2000 {
            var history = BroadcastHistory(
                ClockReading(
                    wall: .random(in: -10...4_000_000_000, using: &random),
                    uptime: .random(in: 0...100_000_000, using: &random), boot: random.bytes(16)))
            let uptime = history.seen.uptime
            history.sequence = Bool.random(using: &random) ? nil : random.next()
            history.run = random.next() >> 11
            history.ends = (0..<Int.random(in: 0...3, using: &random)).map { _ in
                Int.random(in: -90_000_000...uptime, using: &random)
            }.sorted()
            history.isRunning = !history.ends.isEmpty && Bool.random(using: &random)
            history.isStopped = Bool.random(using: &random)
            history.pending = .init(rawValue: .random(in: 0...7, using: &random))
            if Bool.random(using: &random) {
                let interval = Int.random(in: 1200...604_800, using: &random)
                let end = uptime + Int.random(in: -interval...2 * interval, using: &random)
                let due = end - Int.random(in: 1...interval, using: &random)
                history.heartbeat = .init(interval: interval, due: due, end: end)
            }
            if Bool.random(using: &random) {
                let rate = Double.random(in: 0...2_000_000, using: &random)
                history.learnt.record([.webPush: rate])
            }
            let bytes = history.stateFile()
            #expect(bytes.count <= BroadcastHistory.byteLimit)
            #expect(try BroadcastHistory(stateFile: bytes) == history)
        }
    }
}
