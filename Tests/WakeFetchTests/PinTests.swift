import CRuntime
import Glibc
import TestSupport
import Testing

@testable import WakeFetch

@Suite("A pinned request connects to its pin only", .timeLimit(.minutes(5)))
struct PinTests {
    private func pinned(
        _ url: FetchURL, to addresses: [String], port: UInt16, connect: Duration = .seconds(5)
    ) -> FetchRequest {
        var request = FetchRequest.get(url, purpose: .gateway)
        request.pin = PinnedAddresses(addresses: addresses.compactMap { IPAddress($0) }, port: port)
        request.timeout = FetchTimeout(
            connect: connect, total: .seconds(40), throughput: .idle(.seconds(40)))
        return request
    }

    @Test("to the address and port of the pin, with the name and port of the URL in the request")
    func target() async throws {
        let server = LoopbackServer.answering(answer("200 OK", "x"))
        defer { server.stop() }
        let fetcher = try Fetcher.plain()
        let url = try FetchURL("http://localhost:9/path?q=1")
        let (response, _) = try await fetcher.collect(
            pinned(url, to: ["127.0.0.1"], port: server.port))
        #expect(response.status == 200)
        #expect(
            server.requests.map { String(decoding: $0, as: UTF8.self) } == [
                "GET /path?q=1 HTTP/1.1\r\nHost: localhost:9\r\nUser-Agent: Reveille\r\n"
                    + "Accept: */*\r\n\r\n"
            ])
        await fetcher.close()
    }

    @Test(
        "to an IPv6 address", .enabled(if: LoopbackClient.hasVersion6, "this machine has no ::1"))
    func v6() async throws {
        let server = try #require(
            LoopbackServer(on: "::1") { peer in
                while peer.readHead() != nil { peer.send(answer("204 No Content")) }
            })
        defer { server.stop() }
        let fetcher = try Fetcher.plain()
        let url = try FetchURL("http://localhost/")
        let (response, _) = try await fetcher.collect(
            pinned(url, to: ["::1"], port: server.port))
        #expect(response.status == 204)
        await fetcher.close()
    }

    /// Answers the first question with one address and all others with another.
    private actor ChangingResolver: HostResolver {
        private(set) var questions = 0
        private let answers: [IPAddress]

        init(_ answers: [IPAddress]) { self.answers = answers }

        func addresses(of host: [UInt8]) async throws(ResolveError) -> [IPAddress] {
            questions += 1
            return [answers[min(questions, answers.count) - 1]]
        }
    }

    @Test("an answer that changes after the check is of no use")
    func rebinding() async throws {
        // 127.0.0.2 stands for the address that was checked, 127.0.0.1 for the inner service that
        // the second answer points to; both listen at the same port.
        let trap = LoopbackServer.answering(answer("200 OK", "inner"))
        defer { trap.stop() }
        let outer = try #require(
            LoopbackServer(on: "127.0.0.2", port: trap.port) { peer in
                while peer.readHead() != nil { peer.send(answer("200 OK", "outer")) }
            })
        defer { outer.stop() }
        let resolver = ChangingResolver([
            try #require(IPAddress("127.0.0.2")), try #require(IPAddress("127.0.0.1")),
        ])
        let fetcher = try Fetcher.plain()
        // The system's resolver would say 127.0.0.1 as well.
        let url = try FetchURL("http://localhost:\(trap.port)/")
        let checked = try await resolver.addresses(of: Array("localhost".utf8))
        for _ in 0..<5 {
            var request = FetchRequest.get(url, purpose: .gateway)
            request.pin = PinnedAddresses(addresses: checked, port: trap.port)
            let (_, body) = try await fetcher.collect(request)
            #expect(String(decoding: body, as: UTF8.self) == "outer")
        }
        #expect(await resolver.questions == 1)
        #expect(trap.connections == 0)
        // The control: without pin it is the trap that answers.
        let (_, body) = try await fetcher.collect(.get(url))
        #expect(String(decoding: body, as: UTF8.self) == "inner")
        await fetcher.close()
    }

    @Test("a connection made for one pin serves that pin only")
    func reuse() async throws {
        let one = LoopbackServer.answering(answer("200 OK", "1"))
        defer { one.stop() }
        let two = try #require(
            LoopbackServer(on: "127.0.0.2", port: one.port) { peer in
                while peer.readHead() != nil { peer.send(answer("200 OK", "2")) }
            })
        defer { two.stop() }
        let fetcher = try Fetcher.plain()
        let url = try FetchURL("http://localhost:\(one.port)/")
        var bodies: [String] = []
        for address in ["127.0.0.1", "127.0.0.2", "127.0.0.1", "127.0.0.2", nil, nil] {
            var request = pinned(url, to: [address ?? "::1"], port: one.port)
            if address == nil { request.pin = nil }
            let (_, body) = try await fetcher.collect(request)
            bodies.append(String(decoding: body, as: UTF8.self))
        }
        #expect(bodies == ["1", "2", "1", "2", "1", "1"])
        // One for the pin, one for the requests without.
        #expect(one.connections == 2)
        #expect(two.connections == 1)
        await fetcher.close()
    }

    @Test("to the next address if one refuses, and to that first the next time")
    func order() async throws {
        let server = LoopbackServer.answering(answer("200 OK", "x"))
        defer { server.stop() }
        let fetcher = try Fetcher.plain()
        let url = try FetchURL("http://localhost/")
        let addresses = ["127.0.0.3", "127.0.0.4", "127.0.0.1"]
        for _ in 0..<2 {
            let (response, _) = try await fetcher.collect(
                pinned(url, to: addresses, port: server.port))
            #expect(response.status == 200)
        }
        #expect(server.connections == 1)
        let nobody = pinned(url, to: ["127.0.0.3", "127.0.0.4"], port: server.port)
        #expect(await failure(fetcher, nobody) == .network(code: 7))
        await fetcher.close()
    }

    @Test("an address that does not answer costs a second, once")
    func share() async throws {
        let server = LoopbackServer.answering(answer("200 OK", "x"))
        defer { server.stop() }
        // A full queue of connections: the kernel ignores further ones.
        let silent = try #require(IPAddress("127.0.0.5"))
        let (listener, _) = try #require(
            Sockets.listen(on: silent, port: server.port, backlog: 0))
        let first = try #require(Sockets.connect(to: silent, port: server.port))
        #expect(Sockets.waitUntilConnected(first))
        let fillers = (0..<3).compactMap { _ in Sockets.connect(to: silent, port: server.port) }
        defer { for socket in fillers + [first, listener] { Sockets.close(socket) } }
        let fetcher = try Fetcher.plain()
        let url = try FetchURL("http://localhost/")
        // With a share of the hour the suite would run out of its time.
        let request = pinned(
            url, to: ["127.0.0.5", "127.0.0.1"], port: server.port, connect: .seconds(3600))
        #expect(try await fetcher.collect(request).0.status == 200)
        for _ in 0..<2 { #expect(try await fetcher.collect(request).0.status == 200) }
        let silentOnly = pinned(
            url, to: ["127.0.0.5"], port: server.port, connect: .milliseconds(300))
        #expect(await failure(fetcher, silentOnly) == .timeout)
        await fetcher.close()
    }

    @Test("libcurl cannot connect elsewhere: no socket is opened but for the pin")
    func sockets() throws {
        let server = LoopbackServer.answering(answer("200 OK", "x"))
        defer { server.stop() }
        let curl = try Curl(named: nil)
        let loopback = try #require(IPAddress("127.0.0.1"))
        let others = ["127.0.0.2", "126.0.0.1", "::1", "::ffff:127.0.0.1"]
            .compactMap { IPAddress($0) }
        // The address is another, or the port is; and the control.
        var cases = others.map { ($0, server.port, true) }
        cases += [(loopback, server.port ^ 1, true), (loopback, server.port, false)]
        for (address, port, isRefused) in cases {
            let easy = try #require(CurlEasy(curl))
            let multi = try #require(CurlMulti(curl, keeping: 1))
            easy.set(CURLOPT_URL, text: Array("http://localhost/".utf8))
            // Another test sets one in the environment.
            easy.set(CURLOPT_PROXY, text: "")
            // As if something directed libcurl to the server in spite of the pin.
            easy.direct(to: Array("::127.0.0.1:\(server.port)".utf8))
            easy.allow(only: address, port: port)
            #expect(easy.status == 0)
            #expect(multi.add(easy))
            var code: Int32?
            while code == nil {
                multi.perform()
                code = multi.nextEnded()?.code
                if code == nil { multi.wait(.seconds(1)) }
            }
            multi.remove(easy)
            #expect(easy.wasRefused == isRefused)
            #expect((code == 0) == !isRefused)
        }
        #expect(server.connections == 1)
    }

    @Test("not together with a proxy, and no proxy of the environment")
    func proxies() async throws {
        let proxy = LoopbackServer.answering(answer("200 OK", "proxy"))
        defer { proxy.stop() }
        let server = LoopbackServer.answering(answer("200 OK", "server"))
        defer { server.stop() }
        let names = ["http_proxy", "https_proxy", "all_proxy", "ALL_PROXY"]
        for name in names { unsafe setenv(name, "http://127.0.0.1:\(proxy.port)", 1) }
        // Programs that later tests start would go that way.
        defer { for name in names { unsafe unsetenv(name) } }
        let url = try FetchURL("http://localhost/")
        let request = pinned(url, to: ["127.0.0.1"], port: server.port)
        let fetcher = try Fetcher.plain()
        let (_, body) = try await fetcher.collect(request)
        #expect(String(decoding: body, as: UTF8.self) == "server")
        await fetcher.close()
        let through = try Fetcher(
            FetchConfiguration(
                proxy: FetchProxy(host: "127.0.0.1", port: proxy.port, isolation: nil)))
        #expect(await failure(through, request) == .addressRefused)
        #expect(proxy.connections == 0)
        await through.close()
    }

    @Test("redirects are not followed, and of an error's body 4 KiB are read")
    func hostileAnswers() async throws {
        let server = LoopbackServer { peer in
            guard let head = peer.readHead() else { return }
            let target = "http://localhost:\(peer.port)/elsewhere"
            let page = String(repeating: "x", count: 100_000)
            let status = head.starts(with: "GET /302".utf8) ? "302 Found" : "410 Gone"
            peer.send(answer(status, fields: "Location: \(target)\r\n", page))
            peer.waitForClose()
        }
        defer { server.stop() }
        let fetcher = try Fetcher.plain()
        for (path, status) in [("302", 302), ("410", 410)] {
            let request = pinned(
                try FetchURL("http://localhost/\(path)"), to: ["127.0.0.1"], port: server.port)
            let (response, body) = try await fetcher.collect(request)
            #expect(response.status == status)
            #expect(body.count == 4096)
        }
        #expect(server.connections == 2)
        await fetcher.close()
    }
}
