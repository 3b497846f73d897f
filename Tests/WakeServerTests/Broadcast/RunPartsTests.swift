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
        return hashes(
            of: [StoreRow(identity: identity, token: token)], for: token.service)[0]
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

@Suite("Wake-ups without an outcome")
struct PendingPlacesTests {
    @Test(
        "in any order of outcomes, holes and the rest are what a plain model says", arguments: 0..<8
    )
    func anyOrder(_ seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var places = PendingPlaces()
        var model: [(place: UInt64, number: Int, isDone: Bool)] = []
        var skipped = 0
        for place in 0..<6000 as Range<UInt64> {
            if place % 7 == 0 {
                places.skip()
                skipped = model.count
            } else {
                model.append((place, places.append(place), false))
            }
            // The oldest are done first, but not all of them.
            for index in model.indices.suffix(300)
            where !model[index].isDone && Int.random(in: 0..<60, using: &random) == 0 {
                places.complete(model[index].number)
                model[index].isDone = true
            }
            guard place % 100 == 0 else { continue }
            #expect(places.left == model.filter { !$0.isDone }.map(\.place))
            let end = max(skipped, (model.lastIndex(where: \.isDone) ?? -1) + 1)
            #expect(places.holes.places == model[..<end].filter { !$0.isDone }.map(\.place))
            #expect(places.holes.next == (end < model.count ? model[end].place : nil))
        }
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

    @Test("a run is as far as the gateway that is furthest behind, without those that are away")
    func parts() {
        func part(_ permille: Int, _ accepted: UInt64, isWaiting: Bool = false) -> BroadcastReport {
            var part = BroadcastReport()
            (part.permille, part.isWaiting) = (permille, isWaiting)
            (part.isComplete, part.counters.accepted) = (permille == 1000, accepted)
            (part.counters.rows, part.counters.milliseconds) = (accepted + 1, accepted * 10)
            return part
        }
        let report = BroadcastReport().with([
            part(700, 5), part(400, 6), part(100, 7, isWaiting: true),
        ])
        #expect(report.permille == 400 && !report.isComplete && !report.isWaiting)
        #expect(report.counters.accepted == 18 && report.counters.rows == 21)
        #expect(report.counters.milliseconds == 70)
        let waiting = report.with([part(1000, 5), part(100, 7, isWaiting: true)])
        #expect(waiting.isWaiting && waiting.permille == 100 && waiting.counters.accepted == 12)
        #expect(report.with([part(1000, 5), part(1000, 6)]).isComplete)
    }

    @Test("what is written is read by another reader of JSON")
    func encoded() throws {
        var report = BroadcastReport()
        (report.run, report.sequence, report.isRunning) = (7, 1 << 40, true)
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
        #expect(object["running"] as? Bool == true)
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
