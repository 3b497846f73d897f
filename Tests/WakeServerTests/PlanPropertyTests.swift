import Testing
import WakeModel

@testable import WakeServer

@Suite("Any plan keeps what it promises")
struct PlanPropertyTests {
    private static func demand(_ random: inout SeededGenerator) -> BroadcastDemand {
        func scale(_ top: Int) -> Int {
            // Evenly over the orders of magnitude.
            var bound = 1
            while bound < top, Int.random(in: 0..<5, using: &random) > 0 { bound *= 10 }
            return Int.random(in: 0...min(bound, top), using: &random)
        }
        let gateways = (0..<Int.random(in: 0...3, using: &random)).map { _ in
            GatewayLimits(
                PushService.allCases[Int.random(in: 0..<4, using: &random)],
                connections: .random(in: 1...8, using: &random),
                streams: 1 + scale(1000), latencyMilliseconds: 1 + scale(5000),
                quotaPerMinute: Bool.random(using: &random) ? nil : 1 + scale(600_000),
                sharePerMille: .random(in: 1...1000, using: &random))
        }
        return BroadcastDemand(
            rows: scale(50_000_000), streams: scale(20_000), gateways: gateways,
            fetchesPerSecond: Bool.random(using: &random) ? 0 : scale(100_000),
            spreadSeconds: scale(5000), intervalSeconds: .random(in: 1200...90_000, using: &random))
    }

    private func plan(_ demand: BroadcastDemand) -> Result<BroadcastPlan, PlanRefusal> {
        do throws(PlanRefusal) {
            return .success(try BroadcastPlan(demand))
        } catch {
            return .failure(error)
        }
    }

    @Test("it is over in time, within the gateways' limits and the budget")
    func keeps() {
        var random = SeededGenerator(1)
        var plans = 0
        for _ in 0..<20_000 {
            let demand = Self.demand(&random)
            guard case .success(let plan) = plan(demand) else { continue }
            plans += 1
            #expect(plan.totalSeconds <= demand.intervalSeconds)
            for gateway in demand.gateways {
                #expect(plan.rate <= gateway.broadcastRate * 1.000001)
            }
            #expect(plan.meanFetches <= plan.peakFetches * 1.000001)
            let isWarned = plan.warnings.contains {
                if case .streams = $0 { true } else { false }
            }
            if demand.fetchesPerSecond > 0, !isWarned {
                #expect(plan.peakFetches <= demand.usableFetches * 1.000001)
            }
            let isNearlyFull = plan.totalSeconds * 100 >= 80 * demand.intervalSeconds
            #expect(
                isNearlyFull
                    == plan.warnings.contains {
                        if case .nearlyFull = $0 { true } else { false }
                    })
        }
        #expect(plans > 5000)
    }

    @Test("what it says to publish makes the load even, and then it says the same again")
    func settles() throws {
        var random = SeededGenerator(2)
        var settled = 0
        for _ in 0..<20_000 {
            let demand = Self.demand(&random)
            guard case .success = plan(demand) else { continue }
            let next = try BroadcastPlan.settled(demand)
            #expect(next.publishedSpread <= BroadcastDemand.longestSpread)
            guard demand.streams == 0 else { continue }
            settled += 1
            #expect(next.publishedSpread == next.spread)
            #expect(!next.warnings.contains { if case .uneven = $0 { true } else { false } })
            #expect(next.peakFetches <= 1.1 * next.meanFetches * 1.000001)
        }
        #expect(settled > 1000)
    }

    @Test("what a refusal says would help does help, and a little less would not")
    func remedies() {
        var random = SeededGenerator(3)
        var (budgets, connections) = (0, 0)
        for _ in 0..<40_000 {
            let demand = Self.demand(&random)
            guard case .failure(let refusal) = plan(demand) else { continue }
            #expect(refusal.neededSeconds > demand.intervalSeconds)
            #expect(refusal.message.split(separator: "\n").count == 2)
            var longer = demand
            longer.intervalSeconds = refusal.neededSeconds
            #expect((try? plan(longer).get()) != nil)
            if case .budget = refusal.cause, let enough = refusal.enoughFetches {
                budgets += 1
                var more = demand
                more.fetchesPerSecond = enough
                #expect((try? plan(more).get()) != nil, "\(demand)")
                if demand.streams == 0, enough > 100 {
                    more.fetchesPerSecond = enough - max(5, enough / 20)
                    #expect((try? plan(more).get()) == nil)
                }
            }
            if demand.gateways.count == 1, refusal.enoughFetches == nil,
                let enough = refusal.enoughConnections, let old = demand.gateways.first
            {
                connections += 1
                var more = demand
                more.gateways = [
                    GatewayLimits(
                        old.service, connections: enough, streams: old.streams,
                        latencyMilliseconds: old.latencyMilliseconds,
                        sharePerMille: old.sharePerMille)
                ]
                #expect((try? plan(more).get()) != nil)
                #expect(enough > old.connections)
            }
        }
        #expect(budgets > 50 && connections > 50)
    }
}
