import Testing
import WakeModel
import WakePush

@testable import WakeServer

@Suite("The plan of a broadcast")
struct BroadcastPlanTests {
    private static let apns = GatewayThroughput(
        .apns, connections: 1, streams: 1000, latencyMilliseconds: 50)

    private func planError(_ input: PlanInput) -> PlanError? {
        do throws(PlanError) {
            _ = try BroadcastPlan(input)
            return nil
        } catch {
            return error
        }
    }

    @Test("without a budget the gateways set the rate: connections times streams by latency")
    func gateways() throws {
        let plan = try BroadcastPlan(
            .init(rows: 10_000_000, gateways: [Self.apns], spreadSeconds: 0))
        #expect(plan.duration == 500)
        #expect(plan.rate == 20_000)
        #expect(plan.peakFetches == 20_000 && plan.meanFetches == 20_000)
        #expect(plan.warnings == [])
        #expect(plan.publishedSpread == 0)
    }

    @Test("the slowest gateway counts, with its quota")
    func slowest() throws {
        let fcm = GatewayThroughput(
            .fcm, connections: 4, streams: 1000, latencyMilliseconds: 100,
            quotaPerMinute: FCMConfiguration.usualPerMinute)
        let worst = try BroadcastPlan(
            .init(rows: 3_000_000, gateways: [Self.apns, fcm], spreadSeconds: 0))
        // 600,000 a minute, and half a minute more until it is as fast as that.
        #expect(worst.duration == 330)
        let few = try BroadcastPlan(.init(rows: 75_000, gateways: [fcm], spreadSeconds: 0))
        // Half of the way up: 5,000 a second after 30 seconds.
        #expect(few.duration == 30)
    }

    @Test("a budget is kept by the pace, with room for chance")
    func budget() throws {
        let plan = try BroadcastPlan(
            .init(rows: 100_000, gateways: [Self.apns], fetchesPerSecond: 500, spreadSeconds: 0))
        // x + 4 √x = 500 at x = 418.2
        #expect(plan.duration == 240)
        #expect(plan.peakFetches + 4 * plan.peakFetches.squareRoot() <= 500)
        #expect(plan.publishedSpread == 0)
        // A spread of 300 s keeps it by itself: pushes leave as fast as they can.
        let spread = try BroadcastPlan(
            .init(rows: 100_000, gateways: [Self.apns], fetchesPerSecond: 500, spreadSeconds: 300))
        #expect(spread.duration == 5)
        #expect(spread.publishedSpread == 300)
        #expect(spread.warnings == [])
    }

    @Test("an uneven load is warned of, and the spread to publish ends it")
    func uneven() throws {
        let input = PlanInput(
            rows: 10_000_000, gateways: [Self.apns], fetchesPerSecond: 20_000, spreadSeconds: 300)
        let plan = try BroadcastPlan(input)
        #expect(plan.duration == 515)
        #expect(plan.warnings == [.uneven(hundredths: 158)])
        #expect(plan.publishedSpread == 51)
        let settled = try BroadcastPlan.withPublishedSpread(input)
        #expect(settled.spread == 51 && settled.publishedSpread == 51)
        #expect(settled.warnings == [])
    }

    @Test("event streams are woken at once: the spread to publish is long enough for them")
    func streams() throws {
        let input = PlanInput(
            rows: 0, streams: 10_000, gateways: [], fetchesPerSecond: 500, spreadSeconds: 10)
        let plan = try BroadcastPlan(input)
        #expect(plan.duration == 0 && plan.pushes == 0)
        #expect(plan.warnings == [.streams(perSecond: 1000)])
        #expect(plan.publishedSpread == 48)
        #expect(try BroadcastPlan.withPublishedSpread(input).warnings == [])
    }

    @Test("no gateway, no rows, no streams: nothing to plan, nothing divided by zero")
    func nothing() throws {
        let plan = try BroadcastPlan(.init(rows: 5, gateways: [], spreadSeconds: 0))
        #expect(plan.warnings == [.noGateway])
        #expect(plan.totalSeconds == 0 && plan.rate == 0 && plan.meanFetches == 0)
        let empty = try BroadcastPlan(
            .init(rows: 0, gateways: [Self.apns], fetchesPerSecond: 1, spreadSeconds: 0))
        #expect(empty.duration == 0 && empty.warnings == [])
        #expect(empty.spanSeconds >= 1)
    }

    @Test("from 80 % of the interval on it warns, beyond 100 % it refuses")
    func fit() throws {
        let interval = 7200
        for (rows, expected) in [(5759, nil), (5760, 80), (7000, 97), (7200, 100)] as [(Int, Int?)]
        {
            let one = GatewayThroughput(
                .apns, connections: 1, streams: 1, latencyMilliseconds: 1000)
            let plan = try BroadcastPlan(
                .init(rows: rows, gateways: [one], spreadSeconds: 0, intervalSeconds: interval))
            #expect(plan.duration == rows)
            #expect(plan.warnings == (expected.map { [.nearlyFull(percent: $0)] } ?? []))
        }
    }

    @Test("a refusal says what it takes and what would help")
    func refusals() throws {
        let budget = try #require(
            planError(
                .init(
                    rows: 12_000_000, gateways: [Self.apns], fetchesPerSecond: 1000,
                    spreadSeconds: 0)))
        #expect(budget.cause == .budget)
        #expect(budget.neededSeconds == 13_617)
        #expect(budget.enoughFetches == 1830)
        #expect(
            budget.message == """
                a broadcast to 12,000,000 registrations takes 3:46:57, longer than the interval of \
                2:00:00
                hint: allow 1,830 fetches a second, or make the interval 17,040 seconds
                """)
        let slow = GatewayThroughput(
            .webPush, connections: 2, streams: 10, latencyMilliseconds: 100)
        let gateway = try #require(
            planError(.init(rows: 3_000_000, gateways: [Self.apns, slow], spreadSeconds: 0)))
        #expect(gateway.cause == .gateway(.webPush))
        #expect(gateway.enoughConnections == nil)
        #expect(gateway.message.contains("hint: allow more requests at once to a host with [web"))
        let quota = GatewayThroughput(.fcm, connections: 9, quotaPerMinute: 600)
        let quotaRefusal = try #require(
            planError(.init(rows: 3_000_000, gateways: [quota], spreadSeconds: 0)))
        #expect(quotaRefusal.enoughConnections == nil)
        #expect(quotaRefusal.message.contains("ask fcm for a higher quota"))
        let spread = try #require(
            planError(
                .init(rows: 1, gateways: [Self.apns], spreadSeconds: 3600, intervalSeconds: 1200)))
        #expect(spread.cause == .spread(seconds: 3600))
    }

    @Test("a plan by the speed of a push service says whether that was measured")
    func assumedSpeed() throws {
        func bound(_ gateway: GatewayThroughput) throws -> String? {
            let plan = try BroadcastPlan(
                .init(rows: 400_000, gateways: [gateway], spreadSeconds: 9))
            return plan.lines.first { $0.hasPrefix("pushes leave in") }
        }
        let assumed = try #require(try bound(Self.apns))
        #expect(assumed.hasSuffix("bound by apns, whose speed is assumed"))
        #expect(assumed.count <= 80)
        var apns = Self.apns
        apns.measured = 9000
        #expect(try #require(try bound(apns)).hasSuffix("bound by apns"))
        let quota = GatewayThroughput(.fcm, connections: 9, quotaPerMinute: 60_000)
        #expect(try #require(try bound(quota)).hasSuffix("bound by fcm"))
    }

    @Test("the table is the one expected")
    func table() throws {
        let input = PlanInput(
            rows: 10_000_000, streams: 2000, gateways: [Self.apns], fetchesPerSecond: 20_000,
            spreadSeconds: 300)
        let plan = try BroadcastPlan(input)
        let expected = [
            "registrations            10,000,000  estimate",
            "pushes                   10,000,000  19,417 a second",
            "event streams                 2,000  woken at once",
            "pushes leave in             0:08:35  bound by the budget of fetches",
            "clients spread over         0:05:00  of the head they have",
            "takes in all                0:13:35  of an interval of 2:00:00",
            "fetches, mean                12,272  a second",
            "fetches, peak                19,424  a second, budget 20,000",
            "spread to publish           0:00:51  in the head",
            "warning: the peak is 1.58 times the mean: publish a spread of 51 s",
        ]
        #expect(plan.lines == expected)
        #expect(plan.lines.allSatisfy { $0.count <= 80 })
    }
}
