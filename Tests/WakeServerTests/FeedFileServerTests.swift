import Glibc
import TestSupport
import Testing
import WakeFeed
import WakeSystem

@testable import WakeServer

@Suite("The feed's files, without descriptors")
struct FeedFileServerTests {
    private static let name =
        String(repeating: "0", count: 20) + "-" + String(repeating: "a", count: 16)

    @Test("a batch that is there is unavailable, not missing, and one that is sent is shared")
    func batch() async {
        await #expect(processExitsWith: .success) { try FeedFileServerTests.exhaust() }
    }

    /// Ends the process with a failure when something does not hold.
    static func exhaust() throws {
        let directory = try TemporaryDirectory()
        try Files.makeDirectory(directory.path + "/b")
        try Files.create(directory.path + "/b/" + name, with: [1, 2, 3].span)
        let files = FeedFileServer(
            directory: directory.path, maxAge: 0, log: Log(level: .error))
        let bytes = Array(name.utf8)[...]
        var limit = rlimit()
        unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        limit.rlim_cur = 64
        unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        let first = try files.batch(named: bytes)
        var fillers: [Int32] = []
        while true {
            let filler = dup(0)
            guard filler >= 0 else { break }
            fillers.append(filler)
        }
        guard let first, let second = try files.batch(named: bytes), first.file === second.file
        else { exit(2) }
        let other = Array((name.dropLast() + "b").utf8)[...]
        do {
            _ = try files.batch(named: other)
            exit(3)
        } catch { guard error.isExhaustion else { exit(4) } }
        for filler in fillers { close(filler) }
        guard try files.batch(named: other) == nil else { exit(5) }
    }
}
