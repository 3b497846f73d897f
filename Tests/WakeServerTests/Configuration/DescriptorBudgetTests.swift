import Testing
import WakePush

@testable import WakeServer

@Suite("Descriptors, shared out")
struct DescriptorBudgetTests {
    private func configuration(_ text: String = "") throws -> Configuration {
        try ConfigurationParser.parse(text, directory: "/base")
    }

    @Test("the defaults fit into the 65,536 of the unit, and nothing is cut")
    func unit() throws {
        let budget = try DescriptorBudget(try configuration(), limit: 65_536)
        #expect(budget.connections == 20_000 && budget.streams == 10_000 && !budget.isCut)
        // All of the public's, and what it has no part in.
        #expect(budget.publicNumbers >= budget.needed && budget.publicNumbers < 65_536)
    }

    @Test("fewer descriptors are fewer connections, of which a quarter is no event stream")
    func cut() throws {
        let budget = try DescriptorBudget(try configuration(), limit: 4096)
        #expect(budget.isCut && budget.connections < 4096 && budget.needed <= 4096)
        #expect(budget.streams == budget.connections - budget.connections / 4)
        #expect(budget.publicNumbers == 4096 - budget.reserve)
    }

    @Test("a number that was set is kept, or refused in plain words")
    func refused() throws {
        let wanted = try configuration("[http]\nconnections = 1000000\nstreams = 1000000")
        let error = #expect(throws: SetupError.self) {
            try DescriptorBudget(wanted, limit: 20_000)
        }
        #expect(error?.message.hasPrefix("1000000 connections and ") == true)
        #expect(error?.message.contains("the 20000 that this process may open") == true)
        let budget = try DescriptorBudget(wanted, limit: 2_000_000)
        #expect(budget.connections == 1_000_000 && budget.streams == 750_000)
        #expect(throws: SetupError.self) {
            try DescriptorBudget(try configuration(), limit: 64)
        }
    }

    @Test("push connections have descriptors of their own")
    func pushes() throws {
        var served = try configuration()
        let without = try DescriptorBudget(served, limit: 65_536).reserve
        served.webPush = WebPushConfiguration(key: "/base/keys/vapid.key")
        #expect(try DescriptorBudget(served, limit: 65_536).reserve > without + 200)
    }
}
