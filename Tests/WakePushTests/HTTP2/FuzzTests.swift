import TestSupport
import Testing

/// A short, repeatable form of what `Tests/Fuzz` does at length.
struct FuzzTests {
    @Test(
        "whatever bytes come, what must hold holds", .timeLimit(.minutes(5)),
        arguments: ["frames", "headers", "connection", "pages"])
    func short(property: String) async throws {
        let (status, output) = try await RunningProgram.run(
            "fuzz", [property, "--runs", "5000", "--seed", "2"])
        #expect(status == 0, "\(output)")
        #expect(output.contains("5000 runs"))
    }
}
