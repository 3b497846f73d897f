import TestSupport
import Testing
import WakeModel

@testable import WakeServer

@Suite("Any plan keeps what it promises")
struct PlanPropertyTests {
    private static func input(_ random: inout SplitMix64) -> PlanInput {
        func scale(_ top: Int) -> Int {
            // Evenly over the orders of magnitude.
            var bound = 1
            while bound < top, Int.random(in: 0..<5, using: &random) > 0 { bound *= 10 }
            return Int.random(in: 0...min(bound, top), using: &random)
        }
        let gateways = (0..<Int.random(in: 0...3, using: &random)).map { _ in
            GatewayRate(
                PushService.allCases[Int.random(in: 0..<4, using: &random)],
                last: Bool.random(using: &random) ? nil : 1 + Double(scale(50_000)),
                quotaPerMinute: Bool.random(using: &random) ? nil : 1 + scale(600_000))
        }
        return PlanInput(
            rows: scale(50_000_000), streams: scale(20_000), gateways: gateways,
            fetchesPerSecond: Bool.random(using: &random) ? 0 : scale(100_000),
            spreadSeconds: scale(5000), intervalSeconds: .random(in: 1200...90_000, using: &random))
    }

    private func plan(_ input: PlanInput) -> Result<BroadcastPlan, PlanError> {
        Result { () throws(PlanError) in try BroadcastPlan(input) }
    }

    @Test("it is over in time, within the gateways' limits and the budget")
    func keeps() {
        var random = SplitMix64(seed: 1)
        var plans = 0
        for _ in 0..<20_000 {
            let input = Self.input(&random)
            guard case .success(let plan) = plan(input) else { continue }
            plans += 1
            #expect(plan.totalSeconds <= input.intervalSeconds)
            for gateway in input.gateways {
                let seconds = gateway.seconds(for: Double(plan.pushes))
                #expect(Double(plan.duration) >= seconds - 0.001)
            }
            #expect(plan.meanFetches <= plan.peakFetches * 1.000001)
            let isWarned = plan.warnings.contains {
                if case .streams = $0 { true } else { false }
            }
            if input.fetchesPerSecond > 0, !isWarned {
                #expect(plan.peakFetches <= input.usableFetches * 1.000001)
            }
            let isNearlyFull = plan.totalSeconds * 100 >= 80 * input.intervalSeconds
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
        var random = SplitMix64(seed: 2)
        var settled = 0
        for _ in 0..<20_000 {
            let input = Self.input(&random)
            guard case .success = plan(input) else { continue }
            var following = input
            following.spreadSeconds = try BroadcastPlan(input).publishedSpread
            let next = try BroadcastPlan(following)
            #expect(next.publishedSpread <= PlanInput.longestSpread)
            guard input.streams == 0 else { continue }
            settled += 1
            #expect(next.publishedSpread == next.spread)
            #expect(!next.warnings.contains { if case .uneven = $0 { true } else { false } })
            #expect(next.peakFetches <= 1.1 * next.meanFetches * 1.000001)
        }
        #expect(settled > 1000)
    }

    @Test("what a error says would help does help, and a little less would not")
    func remedies() {
        var random = SplitMix64(seed: 3)
        var budgets = 0
        for _ in 0..<40_000 {
            let input = Self.input(&random)
            guard case .failure(let error) = plan(input) else { continue }
            #expect(error.neededSeconds > input.intervalSeconds)
            #expect(error.message.split(separator: "\n").count == 2)
            var longer = input
            longer.intervalSeconds = error.neededSeconds
            #expect((try? plan(longer).get()) != nil)
            if case .budget = error.cause, let enough = error.enoughFetches {
                budgets += 1
                var more = input
                more.fetchesPerSecond = enough
                #expect((try? plan(more).get()) != nil, "\(input)")
                if input.streams == 0, enough > 100, 2 * input.spread < input.intervalSeconds {
                    more.fetchesPerSecond = enough - max(5, enough / 20)
                    #expect((try? plan(more).get()) == nil)
                }
            }
        }
        #expect(budgets > 50)
    }
}
