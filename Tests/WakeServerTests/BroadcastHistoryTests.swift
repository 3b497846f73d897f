import Testing
import WakePush

@testable import WakeServer

@Suite("The history of broadcasts on disk")
struct BroadcastHistoryTests {
    private static let boot = (0..<16).map { UInt8($0 * 16) }
    private static let now = ClockReading(wall: 1_800_000_000, uptime: 86_400, boot: boot)

    private static let text = """
        broadcasts=2
        sequence=1842
        round=17
        seen=86400 1800000000 00102030405060708090a0b0c0d0e0f0
        ends=-71 78300 85500
        running=0
        stopped=1
        pending=6
        heartbeat=7200 90000 92400

        """

    private static var history: BroadcastHistory {
        var history = BroadcastHistory(now)
        history.sequence = 1842
        history.round = 17
        history.ends = [-71, 78_300, 85_500]
        history.isStopped = true
        history.pending = [.asked, .watched]
        history.heartbeat = .init(interval: 7200, due: 90_000, end: 92_400)
        return history
    }

    private func decode(_ text: String) throws(BroadcastHistoryError) -> BroadcastHistory {
        try BroadcastHistory(decoding: Array(text.utf8), now: Self.now)
    }

    private func isRefused(_ bytes: [UInt8]) -> Bool {
        do throws(BroadcastHistoryError) {
            _ = try BroadcastHistory(decoding: bytes, now: Self.now)
            return false
        } catch {
            return true
        }
    }

    @Test("the text is the one documented, both ways")
    func vector() throws {
        #expect(String(decoding: Self.history.encode(), as: UTF8.self) == Self.text)
        #expect(try decode(Self.text) == Self.history)
    }

    @Test("the line of the version before is read: its sequence counts, nothing was pushed")
    func oldLine() throws {
        let history = try decode("sequence=18446744073709551615\n")
        #expect(history.sequence == .max)
        #expect(history.ends == [] && !history.isRunning && history.heartbeat == nil)
        #expect(history.seen == Self.now)
    }

    @Test(
        "every other spelling of a line is refused",
        arguments: [
            ("broadcasts=2", "broadcasts=3"), ("broadcasts=2", "broadcasts=02"),
            ("sequence=1842", "sequence=-1"), ("sequence=1842", "sequence="),
            ("sequence=1842", "sequence=18446744073709551616"), ("round=17", "round= 17"),
            ("round=17", "Round=17"), ("seen=86400 ", "seen=86400  "), ("seen=86400", "seen=-1"),
            ("seen=86400", "seen=9007199254740993"), ("00102030", "0010203"),
            ("a0b0c0d0e0f0", "A0B0C0D0E0F0"), ("a0b0c0d0e0f0", "g0b0c0d0e0f0"),
            ("ends=-71 ", "ends=-0 "), ("ends=-71 ", "ends=--71 "), ("ends=-71 ", "ends=1 2 -71 "),
            ("ends=-71 ", "ends=78301 "), ("85500", "86401"), ("ends=-71 ", "ends= "),
            ("ends=-71 ", "ends=-99999999999999999999 "), ("running=0", "running=2"),
            ("stopped=1", "stopped=yes"), ("pending=6", "pending=8"), ("pending=6", "pending=256"),
            ("heartbeat=7200", "heartbeat=1199"), ("heartbeat=7200", "heartbeat=604801"),
            ("90000", "85199"), ("90000", "92400"), ("heartbeat=7200 90000 92400", "heartbeat=on"),
            ("heartbeat=7200 90000 92400", "heartbeat=7200 100000 100801"),
            ("heartbeat=7200 90000 92400", "heartbeat=7200 90000"), ("\n", "\r\n"),
        ])
    func spellings(_ part: String, _ other: String) {
        var text = Self.text
        if let range = text.firstRange(of: part) { text.replaceSubrange(range, with: other) }
        #expect(text != Self.text)
        #expect(throws: BroadcastHistoryError.damaged) { try decode(text) }
    }

    @Test("running without any broadcast is refused")
    func runningWithout() {
        let text = Self.text.replacing("ends=-71 78300 85500", with: "ends=")
        #expect(throws: Never.self) { try decode(text) }
        #expect(throws: BroadcastHistoryError.damaged) {
            try decode(text.replacing("running=0", with: "running=1"))
        }
    }

    @Test("every shortened, lengthened or foreign file is refused")
    func hostile() {
        let bytes = Array(Self.text.utf8)
        for count in 0..<bytes.count { #expect(isRefused(Array(bytes[..<count]))) }
        for start in 1..<bytes.count { #expect(isRefused(Array(bytes[start...]))) }
        #expect(isRefused(bytes + bytes))
        #expect(isRefused(bytes + [10]))
        #expect(isRefused([UInt8](repeating: 0, count: 300)))
        #expect(isRefused(bytes + [UInt8](repeating: 10, count: 600)))
        #expect(isRefused(Array("sequence=none\n".utf8)))
        #expect(isRefused(Array("sequence=1".utf8)))
    }

    @Test("whatever bytes are changed: what is read would be written the same, and delays no one")
    func mutations() throws {
        var random = SeededGenerator(1)
        let bytes = Array(Self.text.utf8)
        let digits = Array("0123456789 =-\n\u{0}af".utf8)
        var read = 0
        for _ in 0..<30_000 {
            var changed = bytes
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let place = Int.random(in: changed.indices, using: &random)
                changed[place] = digits[Int.random(in: digits.indices, using: &random)]
            }
            let history: BroadcastHistory
            do throws(BroadcastHistoryError) {
                history = try BroadcastHistory(decoding: changed, now: Self.now)
            } catch {
                continue
            }
            read += 1
            #expect(history.encode() == changed)
            var schedule = BroadcastSchedule(
                .init(), history: history, now: Self.now, using: &random)
            if schedule.history.isRunning { schedule.ended(now: Self.now) }
            let asked = schedule.ask(sequence: .max, force: true, now: Self.now)
            guard case .waits(let seconds) = asked else {
                Issue.record("refused")
                continue
            }
            #expect((0...3601).contains(seconds ?? -1))
        }
        #expect(read > 1000)
    }

    @Test("any schedule's history reads back as it was written")
    func roundTrip() throws {
        var random = SeededGenerator(2)
        for _ in 0..<2000 {
            var history = BroadcastHistory(
                ClockReading(
                    wall: .random(in: -10...4_000_000_000, using: &random),
                    uptime: .random(in: 0...100_000_000, using: &random),
                    boot: (0..<16).map { _ in .random(in: 0...255, using: &random) }))
            let uptime = history.seen.uptime
            history.sequence = Bool.random(using: &random) ? nil : random.next()
            history.round = random.next()
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
            let bytes = history.encode()
            #expect(bytes.count <= BroadcastHistory.byteLimit)
            #expect(try BroadcastHistory(decoding: bytes, now: Self.now) == history)
        }
    }
}
