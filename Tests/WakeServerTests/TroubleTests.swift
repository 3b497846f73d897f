import Foundation
import TestSupport
import Testing
import WakeModel
import WakeStore

@testable import WakeServer

@Suite("Troubles")
struct TroubleTests {
    private static let day: Int64 = 86_400

    private static var well: TroubleFacts {
        var facts = TroubleFacts()
        facts.head = FeedHeadTimes(issued: 0, expires: 7 * day)
        facts.now = 3600
        (facts.needed, facts.free) = (100, 100)
        facts.pause = pause(since: 7300)
        return facts
    }

    /// Two intervals of an hour, and a run of 100 seconds, a day after the start.
    private static func pause(since seconds: Int?, uptime: Int = 86_400) -> BroadcastPause {
        BroadcastPause(sinceRun: seconds, uptime: uptime, interval: 3600, planned: 100)
    }

    private static func report(
        accepted: UInt64, abandoned: UInt64, isComplete: Bool = true
    ) -> BroadcastReport {
        var report = BroadcastReport()
        (report.counters.accepted, report.counters.abandoned) = (accepted, abandoned)
        report.isComplete = isComplete
        return report
    }

    @Test("are none as long as nothing is to mend, also right after a first start")
    func none() {
        #expect(Self.well.troubles == [])
        var fresh = Self.well
        (fresh.pause, fresh.free) = (nil, nil)
        fresh.report = BroadcastReport()
        #expect(fresh.troubles == [])
    }

    @Test("begin with the fact that makes them, one fact one trouble")
    func each() {
        let changes: [(Trouble, (inout TroubleFacts) -> Void)] = [
            (.storeFull, { $0.store = .full }), (.storeFailing, { $0.store = .failing }),
            (.keyFileMissing, { $0.isKeyFileMissing = true }), (.diskLow, { $0.free = 99 }),
            (.feedUnreadable, { $0.head = nil }),
            (
                .feedUnwitnessed,
                { $0.witnesses = WitnessFacts(size: 9, cosigned: 1, isQuorum: false) }
            ),
            (.feedNotRefreshed, { $0.now = 84 * 3600 + 1 }),
            (.feedExpired, { $0.now = 7 * Self.day + 1 }),
            (.broadcastLate, { $0.pause = Self.pause(since: 7301) }),
            (.gatewayMissing, { $0.isGatewayMissing = true }),
            (.gatewayStopped, { $0.report.stopped = [.fcm: "why"] }),
            (.pushesRefused, { $0.report = Self.report(accepted: 49, abandoned: 51) }),
            (.breakerTripped, { $0.report.tripped = [.apns] }),
            (.rotationFailed, { $0.isRotationFailing = true }),
            (.auditViolations, { $0.violations = 1 }),
            (.shardAway, { $0.isPeerAway = true }),
        ]
        #expect(Set(changes.map(\.0)) == Set(Trouble.allCases))
        for (trouble, change) in changes {
            var facts = Self.well
            change(&facts)
            #expect(facts.troubles == [trouble])
        }
    }

    @Test("are none at the last moment before, and in a run that is not whole")
    func edges() {
        var facts = Self.well
        facts.now = 84 * 3600
        facts.report = Self.report(accepted: 50, abandoned: 50)
        #expect(facts.troubles == [])
        facts.report = Self.report(accepted: 0, abandoned: 50, isComplete: false)
        #expect(facts.troubles == [])
        facts.now = 7 * Self.day
        #expect(facts.troubles == [.feedNotRefreshed])
    }

    @Test("a broadcast is late by the time since the last one, also across restarts")
    func late() {
        // What was due while the service was down starts right after the start.
        #expect(!Self.pause(since: 100_000, uptime: 599).isTooLong)
        #expect(Self.pause(since: 100_000, uptime: 600).isTooLong)
        // Without any, since the start.
        #expect(!Self.pause(since: nil, uptime: 7300).isTooLong)
        #expect(Self.pause(since: nil, uptime: 7301).isTooLong)
        // A run that takes a day by its plan is not late on the next day.
        var long = Self.pause(since: 86_400)
        long.planned = 80_000
        #expect(!long.isTooLong)
    }

    @Test("are logged when they begin, and once they have been over for a minute")
    func logged() {
        var log = TroubleLog()
        func note(_ troubles: [Trouble], _ now: UInt64) -> [[Trouble]] {
            let changes = log.note(troubles, now: now)
            return [changes.begun, changes.over]
        }
        #expect(note([.storeFull, .diskLow], 0) == [[.storeFull, .diskLow], []])
        #expect(note([.diskLow], 30_000) == [[], []])
        #expect(note([.diskLow, .feedExpired], 59_999) == [[.feedExpired], []])
        #expect(note([.diskLow], 60_000) == [[], [.storeFull]])
        #expect(note([], 119_999) == [[], [.feedExpired]])
        #expect(note([], 120_000) == [[], [.diskLow]])
        #expect(note([.diskLow], 120_001) == [[.diskLow], []])
    }

    @Test("that come and go are logged twice a minute at most")
    func flapping() {
        var log = TroubleLog()
        var lines = 0
        for second in 0..<3600 as Range<UInt64> {
            let changes = log.note(second % 7 < 3 ? [.storeFull] : [], now: second * 1000)
            lines += changes.begun.count + changes.over.count
        }
        #expect(lines == 1)
    }

    @Test("have one alert each, and no alert has a kind that there is not")
    func alerts() throws {
        let file = Repository.root.appending(path: "Deploy/monitoring/reveille-alerts.yml")
        let text = try String(contentsOf: file, encoding: .utf8)
        let kinds = text.matches(of: /kind=~?"([a-z|-]+)"/).flatMap { $0.1.split(separator: "|") }
        #expect(kinds.map(String.init).sorted() == Trouble.allCases.map(\.rawValue).sorted())
    }
}
