import Foundation
import TestSupport
import Testing

@Suite("Keys of a feed, one after the other", .timeLimit(.minutes(5)))
struct FeedKeyTests {
    @Test("clients of the old key, old and new ones, arrive at the new key by the service's feed")
    func succeeded() async throws {
        let service = try await ServiceUnderTest()
        let old = service.feedKey
        let known = try await ClientUnderTest(of: service)
        #expect(try await known.command("sync").status == 0)

        let asked = try await service.command("feed", "succeed")
        #expect(asked.status == 1 && asked.output.contains("add --yes"))
        #expect(try await service.command("feed", "key").output.hasPrefix("feed key: \(old)\n"))
        let done = try await service.command("feed", "succeed", "--yes")
        #expect(done.status == 0, "\(done.output)")
        let new = try ServiceUnderTest.word(after: "feed key: ", in: done.output)
        #expect(new != old && done.output.contains("before: \(old)"))
        #expect(try await service.command("feed", "key").output.contains("feed key: \(new)\n"))
        // Once more before anything was published is the same change.
        let again = try await service.command("feed", "succeed", "--yes")
        #expect(again.output.contains("done before") && again.output.contains(new))
        let published = try await service.command("feed", "refresh", "--cover")
        #expect(published.status == 0, "\(published.output)")

        let late = try await ClientUnderTest(of: service)
        let fresh = try await ClientUnderTest(
            feed: service.url + "/feed/", key: new, "--service", service.url)
        for client in [known, late, fresh] {
            let (status, output) = try await client.command("sync")
            #expect(status == 0, "\(output)")
            let doctor = try await client.command("doctor")
            #expect(!doctor.output.contains("without its file keys"), "\(doctor.output)")
        }
        for key in [old, new] {
            let verified = try await service.command(
                "feed", "verify", service.url + "/feed/", "--public-key", key)
            #expect(verified.status == 0 && verified.output.contains("2 keys"))
            let files = try await RunningProgram.run(
                "reveille-client",
                ["verify", service.directory.path + "/service/feed", "--key", key])
            #expect(files.status == 0, "\(files.output)")
            #expect(files.output.contains("/keys: ok, 2 keys, the newest is \(new)"))
        }
        // Without that file a profile knows what it has seen, and nobody else does.
        let head = service.directory.path + "/service/feed/head"
        let seen = try await known.command("verify", head)
        #expect(seen.status == 0, "\(seen.output)")
        let unseen = try await RunningProgram.run(
            "reveille-client", ["verify", head, "--key", old])
        #expect(unseen.status == 65, "\(unseen.output)")
    }

    @Test("the file of keys is served like the head: whole, for as long, to everybody alike")
    func served() async throws {
        let service = try await ServiceUnderTest()
        let head = try service.send("GET", "/feed/head")
        let keys = try service.send("GET", "/feed/keys")
        #expect(head.status == 200 && keys.status == 200 && keys.body.count == 4096)
        for name in ["Cache-Control", "Content-Type", "X-Content-Type-Options"] {
            #expect(keys[name] == head[name] && keys[name] != nil, "\(name)")
        }
        try FileManager.default.removeItem(
            atPath: service.directory.path + "/service/feed/keys")
        #expect(try service.send("GET", "/feed/keys").status == 404)
    }

    @Test("a host without the file keys: who needs none goes on, doctor says what is missing")
    func missing() async throws {
        let site = try await FeedSite()
        try await site.publish()
        site.answer { $0 == "keys" ? .wire([], ends: true) : .file }
        let client = try await ClientUnderTest(feed: site.url, key: site.key)
        let doctor = try await client.command("doctor")
        #expect(doctor.output.contains("without its file keys"), "\(doctor.output)")
        #expect(try await client.command("sync").status == 0)
    }

    @Test("with a key that was made elsewhere both files stay where they are")
    func offline() async throws {
        let site = try await FeedSite()
        let new = site.keyFile + ".2027"
        let words = ["--feed", site.feed, "--key", site.keyFile]
        let done = try await RunningProgram.run(
            "reveille", ["feed", "succeed", "--yes", "--new-key", new] + words)
        #expect(done.status == 0 && done.output.contains("key = \(new)"), "\(done.output)")
        let refused = try await RunningProgram.run("reveille", ["feed", "refresh"] + words)
        #expect(refused.status != 0 && refused.output.contains("another key has followed"))
        let taken = try await RunningProgram.run(
            "reveille", ["feed", "refresh", "--feed", site.feed, "--key", new])
        #expect(taken.status == 0, "\(taken.output)")
    }
}
