import Synchronization
import TestSupport
import Testing

@testable import WakeFetch

@Suite("Through a SOCKS5 proxy", .timeLimit(.minutes(5)))
struct ProxyTests {
    /// What a client showed to the proxy.
    struct Visit: Hashable {
        var user: String?
        var password: String?
        var host: String
        var port: Int
    }

    /// A SOCKS5 proxy (RFC 1928, RFC 1929) that answers the request itself.
    private static func proxy(
        _ visits: Seen<Visit>, requiresPassword: Bool = true
    ) -> LoopbackServer {
        LoopbackServer { peer in
            func text(_ count: UInt8) -> String? {
                peer.read(Int(count)).map { String(decoding: $0, as: UTF8.self) }
            }
            guard let greeting = peer.read(2), let methods = peer.read(Int(greeting[1])) else {
                return
            }
            let method: UInt8 = requiresPassword ? 2 : 0
            guard methods.contains(method) else {
                peer.send([5, 0xFF])
                return
            }
            peer.send([5, method])
            var visit = Visit(host: "", port: 0)
            if requiresPassword {
                guard let version = peer.read(2), let user = text(version[1]),
                    let length = peer.read(1), let password = text(length[0])
                else { return }
                visit.user = user
                visit.password = password
                peer.send([1, 0])
            }
            // Only names: socks5h leaves resolving to the proxy.
            guard let command = peer.read(5), command[..<4] == [5, 1, 0, 3],
                let host = text(command[4]), let port = peer.read(2)
            else { return }
            visit.host = host
            visit.port = Int(port[0]) << 8 | Int(port[1])
            visits.note(visit)
            peer.send([5, 0, 0, 1, 0, 0, 0, 0, 0, 0])
            while peer.readHead() != nil { peer.send(answer("200 OK", "through")) }
        }
    }

    private func configuration(_ port: UInt16, isolation: String?) throws -> FetchConfiguration {
        let proxy = try #require(
            FetchProxy(
                host: "127.0.0.1", port: port, isolation: isolation.map { Array($0.utf8) }))
        return FetchConfiguration(proxy: proxy)
    }

    @Test("each purpose shows its own name, and the proxy resolves the host")
    func purposes() async throws {
        let visits = Seen<Visit>()
        let server = Self.proxy(visits)
        defer { server.stop() }
        let fetcher = try Fetcher(configuration(server.port, isolation: "profile:1@x/"))
        for purpose in FetchPurpose.allCases {
            for _ in 0..<2 {
                let url = try FetchURL("http://abcdefghij.onion:81/head")
                let (_, body) = try await fetcher.collect(.get(url, purpose: purpose))
                #expect(body == Array("through".utf8))
            }
        }
        await fetcher.close()
        let expected = ["registration", "feed", "stream", "gateway"].map {
            Visit(user: $0, password: "profile:1@x/", host: "abcdefghij.onion", port: 81)
        }
        #expect(visits.all == expected)
    }

    @Test("a proxy without credentials is shown none")
    func open() async throws {
        let visits = Seen<Visit>()
        let server = Self.proxy(visits, requiresPassword: false)
        defer { server.stop() }
        let fetcher = try Fetcher(configuration(server.port, isolation: nil))
        _ = try await fetcher.collect(.get(FetchURL("http://abcdefghij.onion/")))
        await fetcher.close()
        #expect(visits.all == [Visit(host: "abcdefghij.onion", port: 80)])
    }

    @Test("loopback goes through the proxy as well: nothing goes around it")
    func loopback() async throws {
        let visits = Seen<Visit>()
        let server = Self.proxy(visits)
        let direct = LoopbackServer.answering(answer("200 OK", "direct"))
        defer {
            server.stop()
            direct.stop()
        }
        let fetcher = try Fetcher(configuration(server.port, isolation: "p"))
        let url = try FetchURL("http://localhost:\(direct.port)/")
        #expect(try await fetcher.collect(.get(url)).1 == Array("through".utf8))
        await fetcher.close()
        #expect(visits.all.map(\.host) == ["localhost"])
        #expect(direct.connections == 0)
    }

    @Test("a proxy that is not there is a network error, never a reason to go around it")
    func missing() async throws {
        let direct = LoopbackServer.answering(answer("200 OK", "direct"))
        defer { direct.stop() }
        let gone = try WireServer.reservedPort()
        let fetcher = try Fetcher(configuration(gone.port, isolation: "p"))
        #expect(await failure(fetcher, .get(try direct.url()))?.isNetwork == true)
        await fetcher.close()
        #expect(direct.connections == 0)
    }

    @Test("an onion service is not asked for without a proxy", arguments: ["http", "https"])
    func onion(scheme: String) async throws {
        let fetcher = try Fetcher.plain()
        let url = try FetchURL("\(scheme)://abcdefghij.onion/")
        #expect(await failure(fetcher, .get(url)) == .onionWithoutProxy)
        await fetcher.close()
    }

    @Test("http to loopback can be forbidden, onion services then still work")
    func noLoopback() async throws {
        let fetcher = try Fetcher(FetchConfiguration(allowLoopbackHTTP: false))
        for host in ["localhost", "127.0.0.1", "[::1]"] {
            let url = try FetchURL("http://\(host):1/")
            #expect(await failure(fetcher, .get(url)) == .invalidURL)
        }
        await fetcher.close()
    }

    @Test("a proxy has a host, a port and at most 255 visible bytes of password")
    func values() {
        let long = [UInt8](repeating: 0x61, count: 256)
        #expect(FetchProxy(host: "", port: 1, isolation: nil) == nil)
        #expect(FetchProxy(host: "a b", port: 1, isolation: nil) == nil)
        #expect(FetchProxy(host: "u@h", port: 1, isolation: nil) == nil)
        #expect(FetchProxy(host: "h", port: 0, isolation: nil) == nil)
        #expect(FetchProxy(host: "h", port: 1, isolation: []) == nil)
        #expect(FetchProxy(host: "h", port: 1, isolation: long) == nil)
        #expect(FetchProxy(host: "h", port: 1, isolation: [0x61, 0]) == nil)
        #expect(FetchProxy(host: "[::1]", port: 9050, isolation: Array(long.dropLast())) != nil)
    }
}
