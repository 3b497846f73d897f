import Testing
import WakeModel
import WakePush

@testable import WakeServer

@Suite("The plan of a broadcast")
struct BroadcastPlanTests {
    private static let apns = GatewayRate(.apns, last: 20_000)

    /// The plan once the heads of all clients have the published spread.
    private func settled(_ input: PlanInput) throws -> BroadcastPlan {
        var next = input
        next.spreadSeconds = try BroadcastPlan(input).publishedSpread
        return try BroadcastPlan(next)
    }

    private func planError(_ input: PlanInput) -> PlanError? {
        do throws(PlanError) {
            _ = try BroadcastPlan(input)
            return nil
        } catch {
            return error
        }
    }

    @Test("without a budget the gateways set the rate: that of their last broadcast")
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
        let fcm = GatewayRate(.fcm, quotaPerMinute: FCMConfiguration.usualPerMinute)
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
        let settled = try settled(input)
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
        #expect(try settled(input).warnings == [])
    }

    @Test("no gateway, no rows, no streams: nothing to plan, nothing divided by zero")
    func nothing() throws {
        let plan = try BroadcastPlan(.init(rows: 5, gateways: [], spreadSeconds: 0))
        #expect(plan.warnings == [.noGateway])
        #expect(plan.totalSeconds == 0 && plan.rate == 0 && plan.meanFetches == 0)
        let empty = try BroadcastPlan(
            .init(rows: 0, gateways: [Self.apns], fetchesPerSecond: 1, spreadSeconds: 0))
        #expect(empty.duration == 0 && empty.warnings == [])
    }

    @Test("from 80 % of the interval on it warns, beyond 100 % it refuses")
    func fit() throws {
        let interval = 7200
        for (rows, expected) in [(5759, nil), (5760, 80), (7000, 97), (7200, 100)] as [(Int, Int?)]
        {
            let one = GatewayRate(.apns, last: 1)
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
        let slow = GatewayRate(.webPush, last: 200)
        let gateway = try #require(
            planError(.init(rows: 3_000_000, gateways: [Self.apns, slow], spreadSeconds: 0)))
        #expect(gateway.cause == .gateway(.webPush))
        #expect(gateway.message.contains("hint: allow more requests at once to a host with [web"))
        let quota = GatewayRate(.fcm, quotaPerMinute: 600)
        let quotaRefusal = try #require(
            planError(.init(rows: 3_000_000, gateways: [quota], spreadSeconds: 0)))
        #expect(quotaRefusal.message.contains("ask fcm for a higher quota"))
        let spread = try #require(
            planError(
                .init(rows: 1, gateways: [Self.apns], spreadSeconds: 3600, intervalSeconds: 1200)))
        #expect(spread.cause == .spread(seconds: 3600))
    }

    @Test("a plan says what bounds it, and whether a broadcast has shown that")
    func bound() throws {
        func bound(_ gateway: GatewayRate, fetches: Int = 0) throws -> String {
            let plan = try BroadcastPlan(
                .init(
                    rows: 400_000, gateways: [gateway], fetchesPerSecond: fetches, spreadSeconds: 9)
            )
            return try #require(plan.lines.first { $0.hasPrefix("pushes leave in") })
        }
        let unknown = try bound(GatewayRate(.apns))
        #expect(unknown.hasSuffix("  at least: no broadcast has shown how fast"))
        #expect(unknown.count <= 80)
        #expect(try bound(GatewayRate(.apns), fetches: 500).hasSuffix("the budget of fetches"))
        #expect(try bound(Self.apns).hasSuffix("bound by apns"))
        #expect(try bound(GatewayRate(.fcm, quotaPerMinute: 60_000)).hasSuffix("bound by fcm"))
    }

    @Test("the pace is that of the fetches: a gateway that has become faster is not held back")
    func pace() throws {
        let apns = GatewayRate(.apns, last: 10)
        let plan = try BroadcastPlan(
            PlanInput(rows: 10_000, gateways: [apns], fetchesPerSecond: 1000, spreadSeconds: 0))
        #expect(plan.duration == 1000 && plan.paceSeconds < 20)
    }

    @Test("a rate is that of the time in which the pace does not hold it back, and is kept")
    func rates() {
        var meter = RateMeter()
        meter.add(rows: 1000)
        meter.add(time: .seconds(1))
        #expect(meter.rate == nil)
        meter.add(rows: 200)
        meter.add(time: .seconds(3))
        #expect(meter.rate == 300)
        var rates = LearntRates()
        rates.record([.apns: 300.4, .fcm: 0.1, .webPush: 1e12])
        rates.record([.apns: 301])
        #expect(rates.rates == [.apns: 301, .fcm: 1, .webPush: 1_000_000_000])
        #expect(LearntRates(rates: [.apns: 0]) == nil)
    }
}
