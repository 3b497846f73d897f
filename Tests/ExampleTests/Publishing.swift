import Foundation
import TestSupport

extension ServiceUnderTest {
    /// Publishes a secret, and wakes all who listen.
    func publish(_ secret: [UInt8], note: String = "") async throws {
        let text = secret.map { String(format: "%02x", $0) }.joined()
        let file = directory.path + "/note"
        try (note + "\n").write(toFile: file, atomically: true, encoding: .utf8)
        let published = try await command(
            "feed", "publish", "-", "--secrets", "--note-file", file, "--again",
            "--then-broadcast", input: Array((text + "\n").utf8))
        guard published.status == 0 else { throw TestFailure(published.output) }
    }
}
