import TestSupport
import Testing

struct BusFuzzTests {
    @Test("200,000 mutated messages are read or refused, and trap nothing", .timeLimit(.minutes(5)))
    func mutated() async throws {
        let (status, output) = try await RunningProgram.run(
            "fuzz", ["bus", "--runs", "200000", "--seed", "3"])
        #expect(status == 0, "\(output)")
        #expect(output.contains("200000 runs"))
    }
}
