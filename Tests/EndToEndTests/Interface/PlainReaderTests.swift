import Foundation
import TestSupport
import Testing

/// `phone-feed` has WakeFeed, and with it the hashes, boxes and signatures in Swift.
@Suite("The reader of a feed without libsodium", .timeLimit(.minutes(20)))
struct PlainReaderTests {
    private static let isLong = ProcessInfo.processInfo.environment["REVEILLE_LONG"] != nil
    private static let count = isLong ? 20_000 : 60
    /// Feeds that lie on the disk at a time.
    private static let tranche = 1000

    @Test(
        "of random feeds, half of them damaged, it says what Policy/FEED.md says, error by error",
        .enabled(if: PythonScript.has("cryptography"), "needs Python's cryptography"))
    func peer() async throws {
        let peer = Repository.absolute("Tests/WakeFeedTests/Vectors/peer.py")
        var seen: [String: Int] = [:]
        for start in stride(from: 0, to: Self.count, by: Self.tranche) {
            let directory = try TemporaryDirectory()
            let count = min(Self.tranche, Self.count - start)
            let made = try await RunningProgram.run(
                path: "/usr/bin/env",
                ["python3", "-B", peer, "publish", "\(start + 7)", "\(count)", directory.path])
            #expect(made.status == 0, "\(made.output)")
            let read = try await RunningProgram.run("phone-feed", ["read", directory.path])
            #expect(read.status == 0, "\(read.output)")
            for number in 0..<count {
                let results = try ["result", "swift"].map {
                    try String(contentsOfFile: directory.path + "/\(number)/\($0)", encoding: .utf8)
                }
                #expect(results[0] == results[1], "feed \(number) of \(start + 7)")
                seen[String(results[0].prefix { $0 != "\n" }), default: 0] += 1
            }
        }
        #expect(seen["ok", default: 0] > Self.count / 3 && seen.count > 5, "\(seen)")
    }

    @Test("it links neither libsodium nor SQLite, and its hashes are its own")
    func libraries() async throws {
        func run(_ tool: String, _ program: String) async throws -> String {
            let path = RunningProgram.folder.appending(path: program).path
            return try await RunningProgram.run(path: "/usr/bin/env", [tool, path]).output
        }
        let linked = try await run("ldd", "phone-feed")
        #expect(linked.contains("libc.so"))
        for library in ["sodium", "sqlite", "curl", "ssl"] {
            #expect(!linked.contains("lib" + library), "\(linked)")
        }
        // Weak where nothing took its place.
        #expect(try await run("nm", "phone-feed").contains(" W wake_crypto_table"))
        #expect(try await run("nm", "reveille").contains(" T wake_crypto_table"))
    }

    /// The compiler knows since when Apple's systems have a part of its standard library.
    @Test(
        "its modules compile for iOS 15",
        .enabled(if: Self.isLong, "REVEILLE_LONG: compiles the standard library"))
    func system() async throws {
        let script = Repository.absolute("Tests/PhoneFeed/ios15.py")
        let result = try await RunningProgram.run(path: "/usr/bin/env", ["python3", "-B", script])
        #expect(result.status == 0 || result.status == 77, "\(result.output)")
    }
}
