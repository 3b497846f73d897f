import Glibc
import TestSupport
import Testing
import WakeFeed
import WakeHTTP
import WakeSystem

@testable import WakeServer

@Suite("The feed's files")
struct FeedFileServerTests {
    private static let name =
        String(repeating: "0", count: 20) + "-" + String(repeating: "a", count: 16)

    @Test("without descriptors a batch is unavailable, not missing, and one that is sent is shared")
    func batch() async {
        await #expect(processExitsWith: .success) { try FeedFileServerTests.exhaust() }
    }

    @Test("the keys are read when they were replaced, not when they are asked for")
    func keys() throws {
        let directory = try TemporaryDirectory()
        let files = FeedFileServer(directory: directory.path, maxAge: 0, log: Log(level: .error))
        func bytes() throws -> [UInt8]? {
            guard case .bytes(let bytes)? = try files.keys()?.body else { return nil }
            return bytes
        }
        #expect(try bytes() == nil)
        let path = directory.path + "/keys"
        try Files.replace(path, with: [1, 2].span)
        #expect(try bytes() == [1, 2])
        // Other bytes of the same size and time in the same file: nobody reads them.
        var times = stat()
        try #require(unsafe stat(path, &times) == 0)
        try OpenFile(path, flags: O_WRONLY).write([3, 4].span, at: 0)
        var both = [times.st_atim, times.st_mtim]
        try #require(unsafe utimensat(AT_FDCWD, path, &both, 0) == 0)
        #expect(try bytes() == [1, 2])
        try Files.replace(path, with: [5, 6, 7].span)
        #expect(try bytes() == [5, 6, 7])
        try Files.remove(path)
        #expect(try bytes() == nil)
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
