import Foundation
import Testing
import WakeModel

@testable import WakeServer

@Suite("A broadcast on paper")
struct BroadcastSimulationTests {
    private static let apns = GatewayLimits(.apns, connections: 1)

    private func simulation(
        rows: Int, streams: Int = 0, budget: Int = 0, spread: Int, seed: UInt64 = 1
    ) throws -> BroadcastSimulation {
        let demand = BroadcastDemand(
            rows: rows, streams: streams, gateways: [Self.apns], fetchesPerSecond: budget,
            spreadSeconds: spread)
        return BroadcastSimulation(try .settled(demand), seed: seed)
    }

    @Test(
        "100,000 clients: the fullest second has at most 1.3 times the mean over the window",
        arguments: [
            // Spread of the head, budget: S alone, the pace alone, the pace with a tenth of it.
            (300, 0), (300, 500), (300, 2000), (120, 1000), (0, 500), (0, 1500), (60, 800),
            (30, 5000),
        ])
    func even(_ spread: Int, _ budget: Int) throws {
        for seed in 0..<5 as Range<UInt64> {
            let simulation = try simulation(
                rows: 100_000, budget: budget, spread: spread, seed: seed)
            #expect(simulation.fetches.reduce(0, +) == 100_000)
            #expect(simulation.seconds == simulation.plan.totalSeconds)
            #expect(Double(simulation.fullestSecond) <= 1.3 * simulation.mean)
            if budget > 0 { #expect(simulation.fullestSecond <= budget) }
        }
    }

    @Test("where chance rules single seconds, spans of 1,000 fetches are even")
    func slow() throws {
        for (spread, budget) in [(1600, 0), (0, 100), (900, 0), (3600, 0)] {
            for seed in 0..<5 as Range<UInt64> {
                let simulation = try simulation(
                    rows: 100_000, budget: budget, spread: spread, seed: seed)
                #expect(simulation.plan.spanSeconds > 1)
                #expect(simulation.fullestSpan <= 1.3 * simulation.mean)
            }
        }
    }

    @Test("any plan of 100,000 clients or more is as even as its arithmetic says")
    func anyPlan() throws {
        var random = SeededGenerator(2)
        for _ in 0..<40 {
            let budget =
                Bool.random(using: &random) ? 0 : Int.random(in: 60...50_000, using: &random)
            let spread = Int.random(in: 0...1800, using: &random)
            let simulation = try simulation(
                rows: .random(in: 100_000...300_000, using: &random), budget: budget,
                spread: spread, seed: random.next())
            #expect(simulation.fullestSpan <= 1.3 * simulation.mean)
            if budget > 47 { #expect(simulation.fullestSecond <= budget) }
            let (pushes, fetches) = (simulation.pushes, simulation.fetches)
            #expect(pushes.reduce(0, +) == fetches.reduce(0, +))
        }
    }

    @Test("the control: with push window and spread alike the peak is twice the mean")
    func control() throws {
        let one = GatewayLimits(.apns, connections: 1, streams: 20)
        let plan = try BroadcastPlan(
            .init(rows: 120_000, gateways: [one], spreadSeconds: 300))
        #expect(plan.duration == 300)
        #expect(plan.warnings == [.uneven(hundredths: 200)])
        let simulation = BroadcastSimulation(plan, seed: 1)
        #expect(Double(simulation.fullestSecond) > 1.8 * simulation.mean)
    }

    @Test("the counts in each second follow the trapezoid")
    func trapezoid() throws {
        let one = GatewayLimits(.apns, connections: 1, streams: 100)
        let plan = try BroadcastPlan(
            .init(rows: 1_000_000, gateways: [one], spreadSeconds: 100))
        let simulation = BroadcastSimulation(plan, seed: 3)
        #expect(plan.duration == 500 && simulation.seconds == 600)
        for second in 0..<600 {
            let middle = Double(second) + 0.5
            let slope = min(middle, 600 - middle, 100) / 100
            let expected = 2000 * slope
            #expect(
                abs(Double(simulation.fetches[second]) - expected) < 5 * expected.squareRoot() + 5)
            #expect(simulation.pushes[second] == (second < 500 ? 2000 : 0))
        }
    }

    @Test("the same seed gives the same load, another one another")
    func seeds() throws {
        let first = try simulation(rows: 10_000, spread: 60, seed: 1)
        #expect(try simulation(rows: 10_000, spread: 60, seed: 1) == first)
        #expect(try simulation(rows: 10_000, spread: 60, seed: 2).fetches != first.fetches)
    }

    @Test("clients on event streams fetch from the first moment on")
    func streams() throws {
        let simulation = try simulation(rows: 0, streams: 10_000, budget: 500, spread: 0)
        #expect(simulation.plan.spread == 48)
        #expect(simulation.fetches.reduce(0, +) == 10_000)
        #expect(simulation.fullestSecond <= 500)
    }

    @Test("table and plot keep their bounds, whatever the size")
    func bounds() throws {
        for (rows, spread) in [
            (0, 0), (1, 0), (1, 3600), (50, 7), (100_000, 300), (500_000, 25), (1_000_000, 3000),
        ] {
            let simulation = try simulation(rows: rows, spread: spread)
            #expect(simulation.table.count <= BroadcastSimulation.tableRows + 1)
            #expect(simulation.table.allSatisfy { $0.count <= 72 })
            #expect(simulation.summary.allSatisfy { $0.count <= 80 })
            for style in [LoadPlot.Style.blocks, .ascii] {
                let plot = LoadPlot(simulation, style: style)
                #expect(plot.lines.count == LoadPlot.height + 2)
                #expect(plot.lines.allSatisfy { $0.count <= LoadPlot.width })
                #expect(plot.lines.allSatisfy { !$0.contains("\u{1B}") })
                let isASCII = plot.lines.allSatisfy { $0.allSatisfy(\.isASCII) }
                #expect(isASCII == (style == .ascii))
            }
            let sum = simulation.parts(24).reduce(0.0) {
                $0 + $1.fetches * Double($1.to - $1.from)
            }
            #expect(abs(sum - Double(rows)) < 0.01)
            let object = try JSONSerialization.jsonObject(with: Data(simulation.json))
            let members = try #require(object as? [String: Any])
            #expect(members["clients"] as? Int == rows)
            #expect((members["load"] as? [Any])?.count == simulation.table.count - 1)
            #expect((members["plan"] as? [String: Any])?["rows"] as? Int == rows)
        }
    }

    @Test("the plot draws the trapezoid")
    func plot() throws {
        let one = GatewayLimits(.apns, connections: 1, streams: 100)
        let plan = try BroadcastPlan(
            .init(rows: 1_000_000, gateways: [one], spreadSeconds: 250))
        let plot = LoadPlot(BroadcastSimulation(plan, seed: 3), style: .ascii)
        #expect(plot.lines.first?.hasPrefix("   2.0") == true)
        // Full in the middle, rising and falling at the sides.
        let columns = plot.lines.prefix(LoadPlot.height).map { Array($0.dropFirst(10)) }
        #expect(columns.allSatisfy { $0.count > 30 && $0[30] == "#" })
        #expect(columns[0][2] == " " && columns[9][2] == "#")
        #expect(columns[0].count < columns[9].count)
    }
}
