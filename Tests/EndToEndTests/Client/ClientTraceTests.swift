import Foundation
import TestSupport
import Testing
import WakeModel
import WakeSystem

/// What crosses the wire, seen by a front that records every byte.
@Suite("What any client sends is what every client sends", .timeLimit(.minutes(5)))
struct ClientTraceTests {
    /// The bytes of a request, but for an instance token and the body that only its owner has.
    private static func bytes(_ request: WireRequest) -> [String] {
        let lines = request.head.split(separator: "\r\n").map { line in
            line.hasPrefix("Authorization: Bearer ") ? "Bearer of \(line.utf8.count)" : "\(line)"
        }
        return lines + ["body of \(request.body.count)"]
    }

    /// The requests that `act` leads to, in their order.
    private static func recorded(
        _ front: FaultyFront, _ act: () async throws -> Void
    ) async throws -> [[String]] {
        let before = front.requests.count
        try await act()
        return front.requests.dropFirst(before).map(bytes)
    }

    @Test("matches or none, cache or none, early or late: the same bytes")
    func same() async throws {
        let service = try await ServiceUnderTest()
        let front = try FaultyFront(to: service.port)
        let plain = try await ClientUnderTest(of: service, at: front.url)
        let matching = try await ClientUnderTest(of: service, at: front.url)
        _ = try await plain.addSecret("mine")
        let secret = try await matching.addSecret("visit")
        _ = try await service.publish([secret, TestDevice().pushText], notes: ["one", "two"])
        _ = try await service.publish([secret], notes: ["three"])
        let clients = [plain, matching]
        var traces: [[[String]]] = []
        for client in clients {
            traces += [
                try await Self.recorded(front) {
                    let first = try await client.command("sync")
                    #expect(first.status == (client === matching ? 10 : 0), "\(first.output)")
                    // Nothing new: with the batches that were kept, and without.
                    if client === plain {
                        try FileManager.default.removeItem(atPath: client.state + "/cache")
                    }
                    #expect(try await client.command("sync").status == 0)
                    #expect(try await client.register(TestDevice()) == 0)
                    #expect(try await client.command("stored").status == 0)
                    #expect(try await client.command("unregister").status == 0)
                    #expect(try await client.command("sync").status == 0)
                }
            ]
        }
        // Head, keys, two batches, head; PUT, GET, DELETE; head.
        #expect(traces[0].count == 9, "\(traces[0])")
        #expect(traces[1] == traces[0])
        let sizes = front.requests.filter { $0.path == "/v1/registration" }
            .map { $0.head.utf8.count + $0.body.count }
        #expect(sizes.count == 6 && Set(sizes).count == 1, "\(sizes)")
    }

    @Test("a client that is woken to a match asks for the same as one that is woken to none")
    func woken() async throws {
        var traces: [[[String]]] = []
        for isMatching in [false, true] {
            let service = try await ServiceUnderTest()
            let front = try FaultyFront(to: service.port)
            let client = try await ClientUnderTest(of: service, at: front.url)
            let reports = try MatchReports(in: client.directory)
            let mine = try await client.addSecret("mine")
            _ = try await service.publish([TestDevice().pushText], notes: [])
            #expect(try await client.command("sync").status == 0)
            // The stream and one look; the stream's first event is no news.
            let (synchronized, answers) = (front.requests.count, front.answers)
            let running = try await client.listen("--on-match", reports.program)
            try await front.requests("GET", atLeast: synchronized + 2)
            // Asked for is not yet answered: what is published now must be news to the next look.
            try await front.answers(atLeast: answers + 1)
            let before = front.requests.count
            _ = try await service.publish(
                [isMatching ? mine : TestDevice().pushText], notes: ["x"], "--then-broadcast")
            _ = try await running.line(containing: "cycle ended, 1 batches")
            if isMatching { _ = try await reports.atLeast(1) }
            try await client.settled()
            running.signal(SIGTERM)
            #expect(await running.exit() == 0)
            traces.append(
                front.requests.dropFirst(before).map { request in
                    // Ports differ, and so do names of batches, after their number.
                    Self.bytes(request).map { line in
                        line.hasPrefix("Host: ") ? "Host" : "\(line.prefix(33)) \(line.count)"
                    }
                })
        }
        #expect(traces[0].count == 2, "head and batch: \(traces[0])")
        #expect(traces[0] == traces[1])
    }

    /// With witnesses and without, three heads, each of which a client meets as everybody does.
    @Test("a client with a policy of witnesses sends what one without sends, byte for byte")
    func witnessed() async throws {
        let feed = try await WitnessedFeed(witnesses: 2, quorum: 2)
        let secret = TestDevice().pushText
        let plain = try await ClientUnderTest(feed: feed.site.url, key: feed.site.key)
        let checking = try await ClientUnderTest(
            feed: feed.site.url, key: feed.site.key, "--witnesses", feed.policy)
        var traces: [[[String]]] = [[], []]
        for client in [plain, checking] {
            let added = try await client.command(
                "secrets", "add", "visit", input: Array(secret.utf8))
            #expect(added.status == 0)
        }
        for round in 0..<3 {
            try await feed.publish(round == 1 ? secret : TestDevice().pushText)
            for (place, client) in [plain, checking].enumerated() {
                let before = feed.site.requests.count
                for _ in 0..<2 {
                    let status = try await client.command("sync").status
                    #expect(status == 0 || status == 10)
                }
                #expect(try await client.command("doctor").output.contains("feed"))
                traces[place] += feed.site.requests.dropFirst(before).map(Self.bytes)
            }
        }
        // Head, keys at first, batch; head; head of the doctor.
        let expected: Int = 3 * 4 + 1
        #expect(traces[0].count == expected, "\(traces[0])")
        #expect(traces[0] == traces[1])
        // One of the two has checked: a head without a quorum is another matter to it.
        try await feed.publish(witnessed: false)
        #expect(try await plain.command("sync").status == 0)
        #expect(try await checking.command("sync").status != 0)
    }
}
