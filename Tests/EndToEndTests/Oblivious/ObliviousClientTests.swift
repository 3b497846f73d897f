import Foundation
import TestSupport
import Testing

@Suite(
    "The client behind a relay", .timeLimit(.minutes(5)),
    .enabled(if: ObliviousRelay.program != nil, ObliviousRelay.missing))
struct ObliviousClientTests {
    @Test("works for its proof through relay and gateway while many register, at its first call")
    func proof() async throws {
        let place = try await ObliviousPlace(sections: "\n[registration]\nnew-per-day = 80\n")
        // Through relays an eighth is free of work: ten, the later ones by chance.
        for _ in 0..<10 {
            #expect(try await place.client().register(TestDevice()) == 0)
        }
        var others = 10
        while try await place.count("registers_challenged") == 0, others < 20 {
            #expect(try await place.client().register(TestDevice()) == 0)
            others += 1
        }
        let challenged = try #require(try await place.count("registers_challenged"))
        #expect(challenged > 0)
        let client = try await place.client()
        let device = TestDevice()
        let registered = try await client.command(
            "register", "apns", "--json", input: Array(device.pushText.utf8))
        #expect(registered.status == 0, "\(registered.output)")
        let after = try #require(try await place.count("registers_challenged"))
        #expect(after >= challenged)
        #expect(try await client.command("stored").output.contains("service  apns"))
        // Who comes directly is not held up by them.
        let direct = try place.service.send(
            "PUT", "/v1/registration", token: TestDevice().token, body: TestDevice().body)
        #expect(direct.status == 204)
        #expect(try await place.count("registers_challenged") == after)
        #expect(try await client.command("unregister").status == 0)
        #expect(try place.service.rows() == others + 1)
    }

    @Test("has its doctor try the whole way, which leaves nothing anywhere")
    func doctor() async throws {
        let place = try await ObliviousPlace()
        let client = try await place.client()
        _ = try await client.command("sync")
        let before = try client.files()
        let sound = try await client.command("doctor", "--json").output
        #expect(sound.contains("the service answers through it"), "\(sound)")
        #expect(!sound.contains("\"stream\""), "\(sound)")
        #expect(try client.files() == before)
        #expect(try await place.count("oblivious_opened") == 1)
        await place.relay.stop(SIGKILL)
        let gone = try await client.command("doctor")
        #expect(gone.status == 75 && gone.output.contains("relay"), "\(gone.output)")
    }

    @Test("goes through two relays, of which neither knows the other's part")
    func chain() async throws {
        let place = try await ObliviousPlace()
        let outer = try await ObliviousRelay(to: place.relay.url)
        let client = try await place.client(relay: outer.url)
        #expect(try await client.register(TestDevice()) == 0)
        #expect(try await client.command("unregister").status == 0)
        await outer.stop()
    }

    @Test("with a proxy, too, reaches the relay by a circuit that is not the feed's")
    func proxied() async throws {
        let place = try await ObliviousPlace()
        let (feed, relay) = (String(repeating: "f", count: 56), String(repeating: "r", count: 56))
        let proxy = try SocksProxy(hosts: [
            feed + ".onion": place.service.port, relay + ".onion": place.relay.port,
        ])
        let client = try await ClientUnderTest(
            feed: "http://\(feed).onion/feed/", key: place.service.feedKey, "--service",
            "http://\(feed).onion", "--oblivious", "http://\(relay).onion/", "--channel", "poll",
            "--proxy", "127.0.0.1:\(proxy.port)")
        #expect(try await client.register(TestDevice()) == 0)
        #expect(try place.service.rows() == 1)
        let hosts = Dictionary(grouping: proxy.visits, by: \.user).mapValues { Set($0.map(\.host)) }
        #expect(hosts == ["feed": [feed + ".onion"], "registration": [relay + ".onion"]])
    }

    @Test("says what is wrong with a relay, whose answer it never takes for the service's")
    func relays() async throws {
        let place = try await ObliviousPlace()
        let answer = Observed("")
        let asked = Observed<[WireRequest]>([])
        let server = try WireServer { peer in
            guard let request = WireRequest(from: peer) else { return }
            asked.update { $0.append(request) }
            _ = try? peer.send(answer.value)
        }
        defer { server.refuse() }
        let client = try await place.client(relay: server.url + "/")
        let page = "Content-Type: text/html\r\nContent-Length: 6\r\n\r\n<html>"
        let problem = "Content-Type: application/problem+json\r\nContent-Length: 2\r\n\r\n{}"
        let cases: [(answer: String, status: Int32, text: String, hint: String)] = [
            ("200 OK\r\n\(page)", 65, "does not come from the service", "lead to this service?"),
            (
                "200 OK\r\nContent-Type: message/ohttp-res\r\nContent-Length: 4\r\n\r\nabcd", 65,
                "does not come from the service", "lead to this service?"
            ),
            ("204 No Content\r\n\r\n", 65, "does not come from", "lead to this service?"),
            (
                "302 Found\r\nLocation: \(place.relay.url)\r\nContent-Length: 0\r\n\r\n", 65,
                "answered 302", "it redirects"
            ),
            ("404 Not Found\r\n\(page)", 65, "answered 404", "lead to this service?"),
            ("400 Bad Request\r\n\(page)", 65, "answered 400", "lead to this service?"),
            ("400 Bad Request\r\n\(problem)", 75, "do not agree on a key", "feed refresh"),
            ("429 Too Many\r\nRetry-After: 9\r\n\(problem)", 75, "answered 429", "is busy"),
            ("503 Unavailable\r\n\(problem)", 75, "answered 503", "does not reach"),
            ("", 75, "cannot be reached", ""),
        ]
        for expected in cases {
            answer.update { $0 = expected.answer.isEmpty ? "" : "HTTP/1.1 " + expected.answer }
            let ended = try await client.command(
                "register", "apns", input: Array(TestDevice().pushText.utf8))
            #expect(ended.status == expected.status, "\(expected.answer): \(ended.output)")
            #expect(ended.output.contains(expected.text), "\(ended.output)")
            #expect(
                expected.hint.isEmpty || ended.output.contains(expected.hint), "\(ended.output)")
        }
        #expect(try place.service.rows() == 0)
        #expect(Set(asked.value.map(\.body.count)) == [2103])
        #expect(try await place.count("oblivious_opened") == 0)
        #expect(try await place.count("registers") == 0)
    }

    @Test("is told that the relay does not reach the gateway, and that nothing went past it")
    func gone() async throws {
        let place = try await ObliviousPlace()
        let dead = try WireServer.reservedPort()
        let relay = try await ObliviousRelay(to: dead.url + "/v1/oblivious")
        let client = try await place.client(relay: relay.url)
        let ended = try await client.command(
            "register", "apns", input: Array(TestDevice().pushText.utf8))
        #expect(ended.status == 75 && ended.output.contains("answered 503"), "\(ended.output)")
        #expect(ended.output.contains("does not reach the service's gateway"), "\(ended.output)")
        #expect(try place.service.rows() == 0)
        #expect(await relay.stop() == 0)
    }
}
