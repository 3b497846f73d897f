import Testing
import WakeModel

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
            generation: .current, gateway: gateway)
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
        #expect(rows.removeAll(of: 1) == 50)
        #expect(rows.removeAll(of: 1) == 0 && rows.removeAll(of: 7) == 0)
        #expect(kept.map { rows.remove($0).row.id[0] } == (0..<50).map { UInt8($0 * 2) })
        #expect(rows.count == 0)
    }
}

@Suite("The walk through the ids")
struct IDRangeTests {
    private func id(_ prefix: UInt16, _ rest: UInt8) -> [UInt8] {
        [UInt8(prefix >> 8), UInt8(prefix & 255)] + [UInt8](repeating: rest, count: 30)
    }

    private static let starts: [UInt16] = [0, 1, 255, 256, 257, 32_768, 65_534, 65_535]

    @Test("every id lies in exactly one stretch, wherever the walk begins", arguments: starts)
    func once(_ start: UInt16) {
        let parts = IDRange.wrapping(from: start)
        #expect(parts.count == (start == 0 ? 1 : 2))
        #expect(parts[0].contains(id(start, 0)))
        for prefix in 0...UInt16.max {
            let count = parts.count { $0.contains([UInt8(prefix >> 8), UInt8(prefix & 255)]) }
            if count != 1 { Issue.record("prefix \(prefix) lies in \(count)") }
        }
    }

    @Test("a page after `before` begins with the first id of the stretch", arguments: starts)
    func before(_ start: UInt16) {
        for part in IDRange.wrapping(from: start) {
            let first = id(part.prefixes.lowerBound, 0)
            #expect(part.before.lexicographicallyPrecedes(first))
            // And with none of the stretch before.
            guard part.prefixes.lowerBound > 0 else {
                #expect(part.before.isEmpty)
                continue
            }
            #expect(part.before == id(part.prefixes.lowerBound - 1, 255))
        }
    }

    @Test("the position grows from 0 to all prefixes along the walk", arguments: starts)
    func position(_ start: UInt16) {
        var positions: [Int] = []
        for part in IDRange.wrapping(from: start) {
            for prefix in part.prefixes { positions.append(part.position(of: id(prefix, 9))) }
        }
        #expect(positions == Array(0...65_535))
    }
}

@Suite("A broadcast's report")
struct BroadcastReportTests {
    @Test("what is written is read", arguments: 0..<20)
    func roundTrip(_ seed: Int) throws {
        var report = BroadcastReport()
        report.round = seed
        report.isRunning = seed % 2 == 0
        report.sequence = UInt64(seed) << 40
        (report.permille, report.milliseconds) = (seed * 50, seed * 123_456_789)
        (report.rows, report.duplicates, report.unserved) = (seed * 7, seed * 5, seed * 3)
        (report.accepted, report.gone, report.retry) = (seed * 11, seed * 13, seed * 17)
        report.unsent = seed * 19
        report.isCutShort = seed % 3 == 0
        if seed % 4 > 0 { report.stopped["apns"] = "one \"quoted\"\nhint: \\ two" }
        if seed % 4 > 1 { report.stopped["apns-sandbox"] = "ä" }
        #expect(try BroadcastReport(decoding: report.encode()) == report)
    }

    @Test("of another version or cut short, it is refused")
    func refused() throws {
        let whole = BroadcastReport.none.encode()
        for count in 0..<whole.count {
            #expect(throws: JSONError.self) {
                try BroadcastReport(decoding: Array(whole[..<count]))
            }
        }
        #expect(throws: JSONError.unknownMember) {
            try BroadcastReport(decoding: Array(#"{"rows":1,"columns":2}"#.utf8))
        }
    }

    @Test("sums are of what was done, not of where it stands")
    func sums() {
        var (sum, one) = (BroadcastReport(), BroadcastReport())
        (one.rows, one.accepted, one.gone, one.retry) = (10, 4, 3, 2)
        (one.unsent, one.duplicates, one.unserved, one.permille) = (1, 5, 6, 1000)
        sum.add(one)
        sum.add(one)
        #expect(sum.rows == 20 && sum.accepted == 8 && sum.gone == 6 && sum.retry == 4)
        #expect(sum.unsent == 2 && sum.duplicates == 10 && sum.unserved == 12)
        #expect(sum.permille == 0 && sum.round == 0)
    }
}
