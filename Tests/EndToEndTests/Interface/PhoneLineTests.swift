import Foundation
import ReveillePhone
import TestSupport
import Testing

@Suite("Phones on the line", .timeLimit(.minutes(10)))
struct PhoneLineTests {
    /// The field lines of a request, without those that say how long and to whom.
    private func fields(_ request: WireRequest) -> Set<String> {
        Set(
            request.head.split(separator: "\r\n").dropFirst().map(String.init).filter {
                !$0.hasPrefix("Host:") && !$0.hasPrefix("Content-Length:")
            })
    }

    @Test(
        "no language, no device: a request has what is the same for all; DELETE is as long as PUT")
    func headers() async throws {
        let site = try await FeedSite()
        let service = Observed<[WireRequest]>([])
        let server = try WireServer { peer in
            while let request = WireRequest(from: peer) {
                service.update { $0.append(request) }
                try? peer.send("HTTP/1.1 204 OK\r\nContent-Length: 0\r\n\r\n")
            }
        }
        defer { server.refuse() }
        let phone = try PhoneUnderTest(feed: site.url, key: site.key, service: server.url)
        try await site.publish(phone.device.pushText)
        #expect(try await phone.client.register(.apns(Data(phone.device.push))) == .registered)
        #expect(await phone.cycle().matches.count == 1)
        #expect(try await phone.client.unregister() == .none)

        let common: Set<String> = [
            "User-Agent: Reveille", "Accept: */*", "Accept-Language: *",
            "Accept-Encoding: identity",
        ]
        let paths = site.requests.map { String($0.path.prefix(3)) }
        #expect(paths == ["/he", "/ke", "/b/"])
        for request in site.requests {
            #expect(request.method == "GET" && request.body.isEmpty)
            #expect(fields(request).subtracting(["Connection: keep-alive"]) == common)
        }
        let sent = service.value
        #expect(sent.map(\.method) == ["PUT", "DELETE"])
        let own = sent.map { fields($0).subtracting(common).map { $0.prefix { $0 != ":" } } }
        #expect(
            own.map { Set($0).subtracting(["Connection"]) } == [
                ["Authorization", "Content-Type"], ["Authorization", "Padding"],
            ])
        let sizes = sent.map { $0.head.utf8.count + $0.body.count }
        #expect(sizes[0] == sizes[1], "\(sizes)")
    }

    @Test("neither a redirect nor a page is followed, and an endless answer is cut")
    func refusals() async throws {
        let site = try await FeedSite()
        let phone = try PhoneUnderTest(feed: site.url, key: site.key)
        for status in [301, 302, 307] {
            site.answerHead(
                .wire(
                    Array(
                        """
                        HTTP/1.1 \(status) Moved\r\nLocation: \(site.url)other\r\n\
                        Content-Length: 0\r\n\r\n
                        """.utf8), ends: false))
            #expect(await phone.cycle().failure == .httpStatus(status))
        }
        #expect(site.requests.allSatisfy { $0.path == "/head" })
        site.answerHead(.endless(declared: nil, after: []))
        #expect(await phone.cycle().failure == .tooLarge)
        site.answerHead(.declared(1 << 40, [1, 2, 3]))
        #expect(await phone.cycle().failure == .tooLarge)
        site.answerHead(.declared(400, Array(site.head.prefix(300))))
        let cut = await phone.cycle().failure
        #expect(cut == .truncated || cut == .network, "\(String(describing: cut))")
        site.answer { _ in .file }
        #expect(await phone.cycle().failure == nil)
    }

    @Test("a silent server costs no more than its time, and a cancelled request ends at once")
    func silence() async throws {
        let server = try WireServer { peer in
            while WireRequest(from: peer) != nil {}
        }
        defer { server.refuse() }
        let key = try await FeedSite().key
        let phone = try PhoneUnderTest(feed: server.url + "/", key: key)
        let start = ContinuousClock.now
        let task = Task { await phone.cycle() }
        #expect(await task.value.failure == .network)
        #expect((.seconds(20)...(.seconds(27))).contains(ContinuousClock.now - start))
    }

    @Test("the first request waits for its second, the others for a tenth")
    func pace() async throws {
        let site = try await FeedSite()
        let times = Observed<[ContinuousClock.Instant]>([])
        site.answer { _ in
            times.update { $0.append(.now) }
            return .file
        }
        let phone = try PhoneUnderTest(feed: site.url, key: site.key)
        try await site.publish(phone.device.pushText)
        for _ in 0..<2 { try await site.publish() }
        let start = ContinuousClock.now
        #expect(await phone.cycle().matches.count == 1)
        let end = ContinuousClock.now
        let seen = times.value
        try #require(seen.count == 5)
        #expect(seen[0] - start < .milliseconds(1500))
        for (place, time) in seen.enumerated() {
            #expect(time - start >= .milliseconds(1000 + 100 * place))
        }
        #expect(end - seen[4] >= .milliseconds(400))
    }
}
