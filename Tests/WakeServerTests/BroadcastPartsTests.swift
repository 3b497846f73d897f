import Foundation
import Testing
import WakeModel
import WakePush

@testable import WakeServer
@testable import WakeStore

@Suite("The push tokens a round has woken")
struct SeenTokensTests {
    private func token(_ number: Int, _ service: PushService = .apns) throws -> PushToken {
        let bytes = (0..<32).map {
            $0 < 24 ? 7 : UInt8(truncatingIfNeeded: number >> (8 * ($0 - 24)))
        }
        return try PushToken(service: service, bytes: bytes)
    }

    @Test("a thousand registrations of one push token are one wake-up")
    func same() throws {
        var seen = SeenTokens()
        let token = try token(1)
        var first = 0
        for _ in 0..<1000 where seen.insert(token) { first += 1 }
        #expect(first == 1 && seen.count == 1)
    }

    @Test("different push tokens are all new, once, while the table grows")
    func growth() throws {
        var seen = SeenTokens()
        let before = seen.byteCount
        var new = 0
        for number in 0..<20_000 where seen.insert(try token(number)) { new += 1 }
        #expect(new == 20_000 && seen.count == 20_000)
        var again = 0
        for number in 0..<20_000 where seen.insert(try token(number)) { again += 1 }
        #expect(again == 0)
        // 12 to 24 bytes each.
        #expect(seen.byteCount > before)
        #expect(seen.byteCount >= 12 * 20_000 && seen.byteCount <= 24 * 20_000)
    }

    @Test("the same bytes of another service are another push token")
    func services() throws {
        var seen = SeenTokens()
        #expect(seen.insert(try token(1, .apns)))
        #expect(seen.insert(try token(1, .apnsSandbox)))
        let text = Array("0123456789abcdef0123456789abcdef".utf8)
        #expect(seen.insert(try PushToken(service: .fcm, bytes: text)))
        #expect(seen.insert(try PushToken(service: .apns, bytes: text)))
        #expect(!seen.insert(try token(1, .apnsSandbox)))
    }

    @Test("beyond its limit it remembers no more: rather two wake-ups than none")
    func limit() throws {
        var seen = SeenTokens(limit: 10)
        for number in 0..<10 { #expect(seen.insert(try token(number))) }
        for _ in 0..<3 { #expect(seen.insert(try token(10))) }
        #expect(!seen.insert(try token(9)) && seen.count == 10)
    }

    @Test("two rounds cannot be compared: each has a key of its own")
    func keys() throws {
        // 2,000 push tokens under two keys share a slot order only by chance.
        var (one, other) = (SeenTokens(), SeenTokens())
        for number in 0..<100 {
            _ = one.insert(try token(number))
            _ = other.insert(try token(number))
        }
        #expect(
            "\(Mirror(reflecting: one).descendant("slots") ?? "")"
                != "\(Mirror(reflecting: other).descendant("slots") ?? "")")
    }
}

@Suite("Registrations whose wake-up is with a gateway")
struct UnsettledRowsTests {
    private func row(_ number: Int, gateway: Int = 0) throws -> UnsettledRows.Row {
        let token = try PushToken(service: .fcm, bytes: Array("t\(number)".utf8))
        return UnsettledRows.Row(
            row: StoreRow(id: [UInt8(number & 255)], sealed: [], token: token),
            generation: .current, gateway: gateway, stretch: 0)
    }

    @Test("each is in a slot of its own, slots are used again, and the capacity holds")
    func slots() throws {
        var rows = UnsettledRows(capacity: 3)
        let slots = try (0..<3).map { rows.insert(try row($0)) }
        #expect(Set(slots).count == 3 && rows.isFull && rows.count == 3)
        #expect(rows.remove(slots[1]).row.id == [1])
        #expect(!rows.isFull)
        #expect(rows.insert(try row(9)) == slots[1])
        #expect(rows.remove(slots[1]).row.id == [9] && rows.count == 2)
    }

    @Test("a gateway that stops frees its own slots and no others")
    func removeAll() throws {
        var rows = UnsettledRows(capacity: 100)
        var kept: [Int] = []
        for number in 0..<100 {
            let slot = rows.insert(try row(number, gateway: number % 2))
            if number % 2 == 0 { kept.append(slot) }
        }
        #expect(rows.removeAll(of: 1).count == 50)
        #expect(rows.removeAll(of: 1).isEmpty && rows.removeAll(of: 7).isEmpty)
        #expect(kept.map { rows.remove($0).row.id[0] } == (0..<50).map { UInt8($0 * 2) })
        #expect(rows.count == 0)
    }
}

/// What of a walk is done, against a plain model of it.
@Suite("The stretches of a walk")
struct WalkStretchesTests {
    private static func buckets(_ runs: [BucketRun]) -> [UInt32] {
        runs.flatMap { Array($0.first...$0.last) }
    }

    @Test("a run without rows is done when it has been read")
    func empty() {
        var stretches = WalkStretches()
        stretches.begin(BucketRun(.current, first: 5, last: 900))
        #expect(Self.takeDone(&stretches).isEmpty)
        stretches.end()
        #expect(Self.takeDone(&stretches) == Array(5...900))
    }

    @Test("a bucket is done when its last row was read and all of its rows are settled")
    func order() {
        var stretches = WalkStretches()
        stretches.begin(BucketRun(.current, first: 0, last: 9))
        let first = stretches.read(3)
        let second = stretches.read(3)
        stretches.settle(first)
        stretches.settle(second)
        // More rows of bucket 3 may come.
        #expect(Self.takeDone(&stretches).isEmpty)
        let third = stretches.read(4)
        #expect(Self.takeDone(&stretches) == [0, 1, 2, 3])
        stretches.end()
        #expect(Self.takeDone(&stretches) == [5, 6, 7, 8, 9])
        stretches.settle(third)
        #expect(Self.takeDone(&stretches) == [4])
    }

    @Test("what a broken-off run has not reached is not done, nor its last bucket")
    func brokenOff() {
        var stretches = WalkStretches()
        stretches.begin(BucketRun(.current, first: 0, last: 9))
        let one = stretches.read(2)
        let other = stretches.read(6)
        stretches.breakOff()
        stretches.settle(other)
        stretches.settle(one)
        #expect(Self.takeDone(&stretches) == [0, 1, 2])
    }

    private static func takeDone(_ stretches: inout WalkStretches) -> [UInt32] {
        buckets(stretches.takeDone())
    }

    @Test("in any walk every bucket is done once, and never before its rows", arguments: 0..<30)
    func anyWalk(_ seed: UInt64) {
        var random = seed &* 0x9E37_79B9_7F4A_7C15 | 1
        func draw(_ count: Int) -> Int {
            random ^= random << 13
            random ^= random >> 7
            random ^= random << 17
            return Int(random >> 33) % count
        }
        var stretches = WalkStretches()
        var unsettled: [(number: Int, bucket: UInt32)] = []
        var done: Set<UInt32> = []
        func check() {
            for bucket in Self.takeDone(&stretches) {
                #expect(done.insert(bucket).inserted)
                #expect(!unsettled.contains { $0.bucket == bucket })
            }
        }
        var start: UInt32 = 0
        while start < 3000 {
            let run = BucketRun(.current, first: start, last: start + UInt32(draw(400)))
            stretches.begin(run)
            for bucket in run.first...run.last {
                for _ in 0..<max(0, draw(6) - 3) {
                    unsettled.append((stretches.read(bucket), bucket))
                }
                while !unsettled.isEmpty, draw(3) > 0 {
                    stretches.settle(unsettled.remove(at: draw(unsettled.count)).number)
                }
                check()
            }
            stretches.end()
            start = run.last + 1
        }
        for row in unsettled { stretches.settle(row.number) }
        unsettled = []
        check()
        #expect(done == Set(0..<start))
    }
}

@Suite("A broadcast's report")
struct BroadcastReportTests {
    private func object(_ report: BroadcastReport) throws -> [String: Any] {
        let value = try JSONSerialization.jsonObject(with: Data(report.encode()))
        return try #require(value as? [String: Any])
    }

    @Test("before the first round it says that there was none")
    func none() throws {
        let object = try object(BroadcastReport())
        #expect(object["round"] as? Int == 0 && object["running"] as? Bool == false)
        #expect(object["complete"] as? Bool == false)
        #expect((object["stopped"] as? [String: String])?.isEmpty == true)
    }

    @Test("what is written is read by another reader of JSON")
    func encoded() throws {
        var report = BroadcastReport()
        (report.round, report.sequence, report.isRunning) = (7, 1 << 40, true)
        report.isCutShort = true
        (report.counters.rows, report.counters.accepted) = (10, 4)
        (report.counters.gone, report.counters.deleted) = (3, 2)
        (report.counters.duplicates, report.counters.unserved) = (5, 6)
        report.causes = [.throttled: 8]
        report.braked = [.apnsSandbox]
        report.stopped = [.apns: "one \"quoted\"\nhint: \\ two"]
        let object = try object(report)
        let numbers = [
            "round": 7, "sequence": 1 << 40, "rows": 10, "accepted": 4, "gone": 3, "deleted": 2,
            "duplicates": 5, "unserved": 6,
        ]
        for (name, value) in numbers { #expect(object[name] as? Int == value, "\(name)") }
        #expect(object["running"] as? Bool == true && object["cutShort"] as? Bool == true)
        let causes = try #require(object["causes"] as? [String: Int])
        #expect(causes.count == RetryCause.allCases.count && causes.values.sorted().last == 8)
        let brakes = try #require(object["brakes"] as? [String: Bool])
        #expect(brakes.filter(\.value).keys.sorted() == ["apns-sandbox"])
        #expect(
            object["stopped"] as? [String: String]
                == report.stopped.reduce(into: [:]) {
                    $0["\($1.key.word)"] = $1.value
                })
    }
}
