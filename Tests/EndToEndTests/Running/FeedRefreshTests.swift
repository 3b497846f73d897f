import Foundation
import TestSupport
import Testing
import WakeModel

@Suite("A service that has its feed refreshed, as in a container", .timeLimit(.minutes(5)))
struct FeedRefreshTests {
    private static let options = ["--refresh-feed", "10"]

    /// A service that has been stopped for longer than the interval.
    private func overdue() async throws -> (service: ServiceUnderTest, head: String) {
        let service = try await ServiceUnderTest()
        #expect(await service.stop() == 0)
        let head = service.directory.path + "/service/feed/head"
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSinceNow: -3600)], ofItemAtPath: head)
        return (service, head)
    }

    @Test("an overdue head is signed at once, then in each interval, and never by this process")
    func refreshed() async throws {
        let (service, head) = try await overdue()
        let old = try Data(contentsOf: URL(filePath: head))
        try await service.restart(Self.options)
        _ = try await service.program.line(containing: "feed-changed sequence=1")
        #expect(try Data(contentsOf: URL(filePath: head)) != old)
        _ = try await service.program.line(containing: "feed-changed sequence=2")
        let key = try Data(
            contentsOf: URL(filePath: service.directory.path + "/service/keys/feed.key"))
        let line = Array(key.dropLast())
        let decoded = Base64URL.decode(line.span)
        let seed = try #require(decoded)
        let needles = [seed, line].map { Array($0.dropFirst(8).prefix(16)) }
        // Only root may read its memory; then a word of its own is there.
        let process = service.program.identifier
        if ProcessMemory.hits([Array("reveille".utf8)], of: process) ?? 0 > 0 {
            #expect(ProcessMemory.hits(needles, of: process) == 0)
        }
        #expect(await service.stop() == 0)
        // Of what the other processes print nothing is in the log, which is audited.
        let lines = service.program.output.split(separator: "\n")
        #expect(lines.allSatisfy { $0.hasPrefix("reveille ") }, "\(service.program.output)")
    }

    @Test("a refresh that fails is an error in the log, and the next interval tries again")
    func failing() async throws {
        let (service, _) = try await overdue()
        let key = service.directory.path + "/service/keys/feed.key"
        try FileManager.default.moveItem(atPath: key, toPath: key + ".away")
        try await service.restart(Self.options)
        _ = try await service.program.line(containing: "error feed-refresh-failed")
        try FileManager.default.moveItem(atPath: key + ".away", toPath: key)
        _ = try await service.program.line(containing: "feed-changed sequence=1")
        #expect(await service.stop() == 0)
    }
}
