import TestSupport
import Testing

struct BusFuzzTests {
    /// In parts, each with a time limit of its own.
    @Test(
        "200,000 mutated messages are read or refused, and trap nothing", .timeLimit(.minutes(10)),
        arguments: 3...6)
    func mutated(_ seed: Int) async throws {
        let (status, output) = try await RunningProgram.run(
            "fuzz", ["bus", "--runs", "50000", "--seed", "\(seed)"])
        #expect(status == 0, "\(output)")
        #expect(output.contains("50000 runs"))
    }
}
