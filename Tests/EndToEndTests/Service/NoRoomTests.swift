import Foundation
import TestSupport
import Testing

@Suite(
    "A client on a full disk", .timeLimit(.minutes(5)),
    .enabled(if: Mounts.arePossible, "needs the right to mount a tmpfs in a namespace of its own"))
struct NoRoomTests {
    /// A client, and a site with a batch of about 320 KiB that holds its secret.
    private func place() async throws -> (FeedSite, ClientUnderTest) {
        let site = try await FeedSite()
        let client = try await ClientUnderTest(feed: site.url, key: site.key)
        try await site.publish()
        #expect(try await client.command("sync").status == 0)
        let secret = try await client.addSecret("visit")
        let others = (0..<20_000).map { _ in TestDevice().pushText }
        try await site.publish(([secret] + others).joined(separator: "\n"))
        return (site, client)
    }

    @Test("no room in the cache alone: checked as it comes, told, said once, and not kept")
    func cache() async throws {
        let (site, client) = try await place()
        defer { withExtendedLifetime(site) {} }
        let script = """
            mount -t tmpfs -o size=100k,mode=700 none "$2/cache" || exit 99
            "$1" sync --state "$2"; echo "first=$?"
            "$1" sync --state "$2"; echo "second=$?"
            find "$2/cache" -type f -size +8k
            """
        let answer = try await Mounts.run(script, [Mounts.client, client.state])
        #expect(answer.status == 0)
        let lines = answer.output.split(separator: "\n").map(String.init)
        try #require(lines.count == 5, "\(answer.output)")
        // Fetched before the secret was added, on a disk that is gone.
        #expect(lines.contains { $0.contains("the cache has lost batch 1") })
        #expect(lines.contains { $0.hasPrefix("match ") })
        #expect(lines.contains { $0.contains("warning: there is no room for fetched batches") })
        #expect(lines.suffix(2) == ["first=10", "second=0"], "\(answer.output)")
        #expect(try await client.status("sequence") == "2")
    }

    @Test(
        "no room for the state alone: no cursor moves, no match is lost, and with room it is told")
    func state() async throws {
        let (site, client) = try await place()
        // The state on a small disk of its own, filled to the last byte; the cache on another.
        let script = """
            mkdir "$2.copy" && cp -a "$2/." "$2.copy" || exit 99
            mount -t tmpfs -o size=1m,mode=700 none "$2" || exit 99
            cp -a "$2.copy/." "$2" && rm -r "$2.copy" "$2/cache" && mkdir -m 700 "$2/cache"
            mount -t tmpfs -o size=8m,mode=700 none "$2/cache" || exit 99
            cat /dev/zero > "$2/hog" 2>/dev/null
            "$1" sync --state "$2"; echo "full=$?"
            "$1" sync --json --state "$2"; echo "json=$?"
            rm "$2/hog"
            "$1" status --json --state "$2" | grep -o '"sequence":[0-9]*'
            "$1" sync --state "$2"; echo "room=$?"
            "$1" status --json --state "$2" | grep -o '"sequence":[0-9]*'
            """
        let answer = try await Mounts.run(script, [Mounts.client, client.state])
        #expect(answer.status == 0)
        let output = answer.output
        #expect(output.contains("full=74"), "\(output)")
        #expect(output.contains("there is no room for the state"), "\(output)")
        #expect(output.contains("\"failure\":\"disk-full\""), "\(output)")
        #expect(output.contains("json=74") && output.contains("room=10"), "\(output)")
        let sequences = output.split(separator: "\n").filter { $0.hasPrefix("\"sequence\"") }
        #expect(sequences == ["\"sequence\":1", "\"sequence\":2"])
        #expect(output.split(separator: "\n").count { $0.hasPrefix("match ") } == 1)
        #expect(!site.requests.isEmpty)
    }
}
