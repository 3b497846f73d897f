import Foundation
import TestSupport
import Testing
import WakeModel
import WakePush
import WakeSystem

@testable import WakeServer
@testable import WakeStore

extension TokenDeduplicator {
    /// As a run does it, for a page of one row.
    fileprivate mutating func insert(_ token: PushToken) -> Bool {
        insert(hash: hash(of: token))
    }

    fileprivate mutating func remove(_ token: PushToken) { remove(hash: hash(of: token)) }

    private mutating func hash(of token: PushToken) -> UInt64 {
        let zeros = [UInt8](repeating: 0, count: 32)
        let identity = RowIdentity(id: zeros.span, sealed: zeros.span)
        return hashes(of: [StoreRow(identity: identity, token: token)])[0]
    }
}

@Suite("The token deduplicator")
struct TokenDeduplicatorTests {
    private func token(_ number: Int, _ service: PushService = .apns) throws -> PushToken {
        let bytes = (0..<32).map {
            $0 < 24 ? 7 : UInt8(truncatingIfNeeded: number >> (8 * ($0 - 24)))
        }
        return try PushToken(service: service, bytes: bytes)
    }

    @Test("a thousand registrations of one push token are one wake-up")
    func same() throws {
        var seen = TokenDeduplicator()
        let token = try token(1)
        var first = 0
        for _ in 0..<1000 where seen.insert(token) { first += 1 }
        #expect(first == 1 && seen.count == 1)
    }

    @Test("different push tokens are all new, once, while the table grows")
    func growth() throws {
        var seen = TokenDeduplicator()
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
        var seen = TokenDeduplicator()
        #expect(seen.insert(try token(1, .apns)))
        #expect(seen.insert(try token(1, .apnsSandbox)))
        let text = Array("0123456789abcdef0123456789abcdef".utf8)
        #expect(seen.insert(try PushToken(service: .fcm, bytes: text)))
        #expect(seen.insert(try PushToken(service: .apns, bytes: text)))
        #expect(!seen.insert(try token(1, .apnsSandbox)))
    }

    @Test("an endpoint is the same device in any spelling of its host, another path another")
    func spellings() throws {
        func endpoint(_ text: String) throws -> PushToken {
            try PushToken(service: .webPush, bytes: Array(text.utf8))
        }
        var seen = TokenDeduplicator()
        #expect(seen.insert(try endpoint("https://push.example.org/a?b")))
        for text in [
            "https://push.example.org:443/a?b", "https://PUSH.example.ORG/a?b",
            "https://Push.Example.org:443/a?b",
        ] {
            #expect(!seen.insert(try endpoint(text)), "\(text)")
        }
        for text in [
            "https://push.example.org/A?b", "https://push.example.org/a",
            "https://ush.example.org/a?b",
            "https://push.example.org/443/a?b",
        ] {
            #expect(seen.insert(try endpoint(text)), "\(text)")
        }
    }

    @Test("what is removed is new again, and nothing else is")
    func removal() throws {
        var random = SplitMix64(seed: 8)
        var (seen, model) = (TokenDeduplicator(), Set<Int>())
        for _ in 0..<40_000 {
            let number = Int.random(in: 0..<900, using: &random)
            if Bool.random(using: &random) {
                #expect(seen.insert(try token(number)) == model.insert(number).inserted)
            } else {
                seen.remove(try token(number))
                model.remove(number)
            }
            #expect(seen.count == model.count)
        }
    }

    @Test("beyond its limit it remembers no more: rather two wake-ups than none")
    func limit() throws {
        var seen = TokenDeduplicator(limit: 10)
        for number in 0..<10 { #expect(seen.insert(try token(number))) }
        for _ in 0..<3 { #expect(seen.insert(try token(10))) }
        #expect(!seen.insert(try token(9)) && seen.count == 10)
    }

    @Test("two runs cannot be compared: each has a key of its own")
    func keys() throws {
        // 2,000 push tokens under two keys share a slot order only by chance.
        var (one, other) = (TokenDeduplicator(), TokenDeduplicator())
        for number in 0..<100 {
            _ = one.insert(try token(number))
            _ = other.insert(try token(number))
        }
        #expect(
            "\(Mirror(reflecting: one).descendant("slots") ?? "")"
                != "\(Mirror(reflecting: other).descendant("slots") ?? "")")
    }
}

@Suite("The in-flight table")
struct InFlightTableTests {
    private func entry(_ number: Int, gateway: Int = 0) -> InFlightTable.Entry {
        let id = [UInt8](repeating: UInt8(number & 255), count: Limits.idBytes)
        let sealed = [UInt8](repeating: 0, count: Limits.sealedBytes)
        return InFlightTable.Entry(
            row: RowIdentity(id: id.span, sealed: sealed.span), service: .fcm, host: nil,
            hash: UInt64(number), generation: .current, gateway: gateway, segment: 0)
    }

    @Test("references are distinct, used again, and bounded by the capacity")
    func slots() throws {
        var rows = InFlightTable(capacities: [3, 1])
        let slots = (0..<3).map { rows.insert(entry($0)) }
        #expect(Set(slots).count == 3 && rows.isFull(0) && rows.count == 3)
        #expect(!rows.isFull(1) && rows.count(of: 1) == 0)
        #expect(rows.remove(slots[1]).row.id.first == 1)
        #expect(!rows.isFull(0))
        #expect(rows.insert(entry(9)) == slots[1])
        #expect(rows.remove(slots[1]).row.id.first == 9 && rows.count == 2)
    }

    @Test("a gateway that stops frees its own entries and no others")
    func removeAll() throws {
        var rows = InFlightTable(capacities: [100, 100])
        var kept: [Int] = []
        for number in 0..<100 {
            let slot = rows.insert(entry(number, gateway: number % 2))
            if number % 2 == 0 { kept.append(slot) }
        }
        #expect(rows.removeAll(of: 1).count == 50)
        #expect(rows.removeAll(of: 1).isEmpty && rows.count(of: 1) == 0)
        let ids: [UInt8] = kept.map { rows.remove($0).row.id[0] }
        #expect(ids == Array(stride(from: 0, to: 100, by: 2)))
        #expect(rows.count == 0)
    }
}

/// The tracker against a plain model of a scan.
@Suite("The completion tracker")
struct CompletionTrackerTests {
    private static func buckets(_ completed: [CompletionTracker.Completed]) -> [UInt32] {
        completed.flatMap { Array($0.range.first...$0.range.last) }
    }

    @Test("a range without rows is done when it has been read")
    func empty() {
        var tracker = CompletionTracker()
        tracker.begin([BucketRange(.current, first: 5, last: 900)])
        #expect(Self.takeDone(&tracker).isEmpty)
        tracker.endRanges()
        #expect(Self.takeDone(&tracker) == Array(5...900))
    }

    @Test("a bucket is done when its last row was read and all of its rows are complete")
    func order() {
        var tracker = CompletionTracker()
        tracker.begin([BucketRange(.current, first: 0, last: 9)])
        let first = tracker.didRead(3).segment
        let second = tracker.didRead(3).segment
        tracker.complete(first)
        tracker.complete(second)
        // More rows of bucket 3 may come.
        #expect(Self.takeDone(&tracker).isEmpty)
        let third = tracker.didRead(4).segment
        #expect(Self.takeDone(&tracker) == [0, 1, 2, 3])
        tracker.endRanges()
        #expect(Self.takeDone(&tracker) == [5, 6, 7, 8, 9])
        tracker.complete(third)
        #expect(Self.takeDone(&tracker) == [4])
    }

    @Test("a row that is deferred leaves its bucket to another pass of its push service")
    func deferred() {
        var tracker = CompletionTracker()
        tracker.begin([BucketRange(.current, first: 0, last: 9)])
        let rows = [3, 3, 5].map { tracker.didRead($0).segment }
        tracker.endRanges()
        #expect(tracker.pendingRanges.map(\.last) == [3, 5])
        tracker.complete(rows[0], deferring: ServiceSet(.fcm))
        tracker.complete(rows[1])
        tracker.complete(rows[2])
        let completed = tracker.takeCompleted()
        #expect(completed.map(\.range.first) == [0, 4])
        #expect(completed[0].services == ServiceSet.all.subtracting(ServiceSet(.fcm)))
        #expect(completed[1].services == .all && tracker.pendingRanges.isEmpty)
    }

    @Test("a bucket in which a range was abandoned is neither done nor pending afterwards")
    func abandonedBucket() {
        var tracker = CompletionTracker()
        tracker.begin([BucketRange(.current, first: 0, last: 9)])
        let rows = [2, 6].map { tracker.didRead($0).segment }
        tracker.abandonRanges()
        tracker.begin([BucketRange(.current, first: 20, last: 29)])
        let other = tracker.didRead(21).segment
        #expect(tracker.pendingRanges.map(\.last) == [2, 6, 21])
        for row in rows + [other] { tracker.complete(row) }
        tracker.endRanges()
        #expect(Self.takeDone(&tracker) == [0, 1, 2] + Array(20...29))
        #expect(tracker.pendingRanges.isEmpty)
    }

    @Test("what an abandoned range has not reached is not done, nor its last bucket")
    func abandoned() {
        var tracker = CompletionTracker()
        tracker.begin([BucketRange(.current, first: 0, last: 9)])
        let one = tracker.didRead(2).segment
        let other = tracker.didRead(6).segment
        tracker.abandonRanges()
        tracker.complete(other)
        tracker.complete(one)
        #expect(Self.takeDone(&tracker) == [0, 1, 2])
    }

    @Test("of several ranges those that rows have passed are done, also without a row")
    func severalRanges() {
        var tracker = CompletionTracker()
        let starts: [UInt32] = [20, 0, 40, 60]
        tracker.begin(starts.map { BucketRange(.current, first: $0, last: $0 + 9) })
        let first = tracker.didRead(21).segment
        let last = tracker.didRead(45)
        #expect(!last.isBegun && tracker.didRead(45).isBegun)
        #expect(Self.takeDone(&tracker) == Array(0...9) + Array(22...29))
        tracker.complete(first)
        tracker.abandonRanges()
        #expect(Self.takeDone(&tracker) == [20, 21])
        tracker.begin([BucketRange(.current, first: 40, last: 49)])
        tracker.endRanges()
        #expect(Self.takeDone(&tracker) == Array(40...49))
    }

    private static func takeDone(_ tracker: inout CompletionTracker) -> [UInt32] {
        buckets(tracker.takeCompleted())
    }

    @Test("in any scan every bucket is done once, and never before its rows", arguments: 0..<30)
    func anyScan(_ seed: UInt64) {
        var random = SplitMix64(seed: seed)
        func draw(_ count: Int) -> Int { Int.random(in: 0..<count, using: &random) }
        var tracker = CompletionTracker()
        var pending: [(number: Int, bucket: UInt32)] = []
        var done: Set<UInt32> = []
        func check() {
            for bucket in Self.takeDone(&tracker) {
                #expect(done.insert(bucket).inserted)
                #expect(!pending.contains { $0.bucket == bucket })
            }
        }
        var start: UInt32 = 0
        while start < 3000 {
            // Some ranges at once, in any order, as blocks are; some without a row.
            let ranges = (0...draw(4)).map { _ in
                let range = BucketRange(.current, first: start, last: start + UInt32(draw(200)))
                start = range.last + 1
                return range
            }.shuffled(using: &random)
            tracker.begin(ranges)
            for range in ranges {
                let rows = draw(3) == 0 ? 0 : 6
                for bucket in range.first...range.last {
                    for _ in 0..<max(0, draw(6) - 9 + rows) {
                        pending.append((tracker.didRead(bucket).segment, bucket))
                    }
                    while !pending.isEmpty, draw(3) > 0 {
                        tracker.complete(pending.remove(at: draw(pending.count)).number)
                    }
                    check()
                }
            }
            tracker.endRanges()
        }
        for row in pending { tracker.complete(row.number) }
        pending = []
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

    @Test("before the first run it says that there was none")
    func none() throws {
        let object = try object(BroadcastReport())
        #expect(object["run"] as? Int == 0 && object["running"] as? Bool == false)
        #expect(object["complete"] as? Bool == false)
        #expect((object["stopped"] as? [String: String])?.isEmpty == true)
    }

    @Test("what is written is read by another reader of JSON")
    func encoded() throws {
        var report = BroadcastReport()
        (report.run, report.sequence, report.isRunning) = (7, 1 << 40, true)
        report.isCutShort = true
        (report.counters.rows, report.counters.accepted) = (10, 4)
        (report.counters.gone, report.counters.deleted) = (3, 2)
        (report.counters.duplicates, report.counters.unserved) = (5, 6)
        (report.counters.topics, report.counters.abandoned) = (9, 5)
        report.causes = [.throttled: 8]
        report.tripped = [.apnsSandbox]
        report.stopped = [.apns: "one \"quoted\"\nhint: \\ two"]
        for (host, deliveries) in [
            ("web.push.apple.com", [.accepted, .retry(.throttled)]), ("ntfy.sh", [.gone]),
        ] as [(String, [Delivery])] {
            let token = try PushToken(service: .webPush, bytes: Array("https://\(host)/".utf8))
            let kind = try #require(PushHostKind(token))
            for delivery in deliveries { report.hosts.add(delivery, kind) }
            report.hosts.skip(token)
        }
        report.hosts.skip(try PushToken(service: .fcm, bytes: [0x61]))
        let object = try object(report)
        let numbers = [
            "run": 7, "sequence": 1 << 40, "rows": 10, "accepted": 4, "gone": 3, "deleted": 2,
            "duplicates": 5, "unserved": 6, "topics": 9,
            "asked": 9,
        ]
        for (name, value) in numbers { #expect(object[name] as? Int == value, "\(name)") }
        #expect(object["running"] as? Bool == true && object["cutShort"] as? Bool == true)
        #expect(object["mostlyRefused"] as? Bool == true)
        #expect(
            object["hosts"] as? [String: [String: Int]] == [
                "apple": ["accepted": 1, "gone": 0, "abandoned": 1, "skipped": 1],
                "other": ["accepted": 0, "gone": 1, "abandoned": 0, "skipped": 1],
            ])
        let causes = try #require(object["causes"] as? [String: Int])
        #expect(causes.count == RetryCause.allCases.count && causes.values.sorted().last == 8)
        let breakers = try #require(object["breakers"] as? [String: Bool])
        #expect(breakers.filter(\.value).keys.sorted() == ["apns-sandbox"])
        #expect(
            object["stopped"] as? [String: String]
                == report.stopped.reduce(into: [:]) {
                    $0["\($1.key.name)"] = $1.value
                })
    }
}
