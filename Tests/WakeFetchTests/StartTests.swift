import Glibc
import Synchronization
import TestSupport
import Testing

@testable import WakeFetch

/// Counts ends of fetches and waits for them.
private final class Ends: Sendable {
    private let state = Mutex<(ok: Int, errors: [FetchError: Int], last: Duration)>((0, [:], .zero))
    private let events: AsyncStream<Void>
    private let note: AsyncStream<Void>.Continuation

    init() { (events, note) = AsyncStream.makeStream(of: Void.self) }

    func end(_ result: Result<(FetchResponse, [UInt8]), FetchError>) {
        state.withLock { state in
            switch result {
            case .success: state.ok += 1
            case .failure(let error): state.errors[error, default: 0] += 1
            }
        }
        note.yield()
    }

    func wait(for count: Int) async {
        var seen = 0
        for await _ in events {
            seen += 1
            if seen == count { return }
        }
    }

    var ok: Int { state.withLock { $0.ok } }
    var errors: [FetchError: Int] { state.withLock { $0.errors } }
}

@Suite("Fetches without a task", .timeLimit(.minutes(5)))
struct StartTests {
    /// To one of many hosts that are all served at 127.0.0.1.
    private func request(_ host: Int, _ port: UInt16, connect: Duration = .seconds(600)) throws
        -> FetchRequest
    {
        let url = try FetchURL("http://127.1.\(host / 200).\(host % 200 + 1)/push")
        return FetchRequest(
            url, method: .post, fields: [FetchField("TTL", "60")], body: [], limit: 4096,
            timeout: FetchTimeout(
                connect: connect, total: .seconds(600), throughput: .idle(.seconds(600))),
            purpose: .gateway, pin: PinnedAddresses(addresses: [Sockets.loopback], port: port))
    }

    @Test("the callback gets the head and the whole body, once, and may start the next")
    func chain() async throws {
        let server = LoopbackServer.answering(answer("201 Created", "made"))
        defer { server.stop() }
        let fetcher = try Fetcher.plain()
        let request = try request(0, server.port)
        let (results, note) = AsyncStream.makeStream(of: String.self)
        @Sendable func next(_ left: Int) {
            fetcher.start(request) { result in
                guard case .success(let (response, body)) = result, response.status == 201 else {
                    return note.finish()
                }
                note.yield(String(decoding: body, as: UTF8.self))
                if left > 0 { next(left - 1) } else { note.finish() }
            }
        }
        next(9)
        var bodies: [String] = []
        for await body in results { bodies.append(body) }
        #expect(bodies == [String](repeating: "made", count: 10))
        #expect(server.connections == 1)
        await fetcher.close()
    }

    @Test("what is refused is refused in the callback as well, and so is everything after the end")
    func refused() async throws {
        let fetcher = try Fetcher.plain()
        var bad = try request(0, 9)
        bad.fields = [FetchField("TTL", [0x0A])]
        let (ends, closed) = (Ends(), Ends())
        fetcher.start(bad) { ends.end($0) }
        await ends.wait(for: 1)
        #expect(ends.errors == [.invalidField: 1])
        await fetcher.close()
        fetcher.start(try request(0, 9)) { closed.end($0) }.cancel()
        await closed.wait(for: 1)
        #expect(closed.errors == [.closed: 1])
    }

    @Test("ten thousand at once, over few connections")
    func many() async throws {
        let count = 10_000
        let begun = Gate()
        let server = LoopbackServer { peer in
            // Nobody is answered before all wait: else a host whose next request comes late loses
            // its place, and its connection in the end.
            begun.pass()
            begun.open()
            while peer.readHead() != nil { peer.send(answer("201 Created")) }
        }
        defer { server.stop() }
        let fetcher = try Fetcher(
            FetchConfiguration(maximumConnections: 64, connectionsPerHost: 2, idleConnections: 64))
        let ends = Ends()
        for number in 0..<count {
            fetcher.start(try request(number % 100, server.port)) { ends.end($0) }
        }
        begun.open()
        await ends.wait(for: count)
        #expect(ends.ok == count)
        #expect(server.requests.count == count)
        // A host that lost its place to another opens a new one the next time.
        #expect(server.connections < 600)
        await fetcher.close()
    }

    @Test("ten thousand are cancelled, running or waiting")
    func cancelled() async throws {
        let count = 10_000
        let server = LoopbackServer { peer in
            _ = peer.readHead()
            peer.waitForClose()
        }
        defer { server.stop() }
        let fetcher = try Fetcher(
            FetchConfiguration(maximumConnections: 100, connectionsPerHost: 10))
        let ends = Ends()
        var handles: [FetchHandle] = []
        for number in 0..<count {
            handles.append(fetcher.start(try request(number % 100, server.port)) { ends.end($0) })
        }
        // Their timeouts, one after the other, would exceed the suite's time.
        for handle in handles { handle.cancel() }
        await ends.wait(for: count)
        #expect(ends.errors == [.cancelled: count])
        // Nothing is left behind: the next runs at once.
        for handle in handles.prefix(10) { handle.cancel() }
        let quick = LoopbackServer.answering(answer("201 Created"))
        defer { quick.stop() }
        #expect(try await fetcher.collect(request(0, quick.port)).0.status == 201)
        await fetcher.close()
    }

    @Test("closing ends what runs and what waits")
    func closed() async throws {
        let server = LoopbackServer { peer in
            _ = peer.readHead()
            peer.waitForClose()
        }
        defer { server.stop() }
        let fetcher = try Fetcher(FetchConfiguration(maximumConnections: 10))
        let ends = Ends()
        for number in 0..<1000 {
            fetcher.start(try request(number % 7, server.port)) { ends.end($0) }
        }
        await fetcher.close()
        #expect(ends.errors == [.closed: 1000])
    }

    /// The most requests at once, in all and to one host. None is answered before `target` came.
    private func most(_ count: Int, to hosts: Int, target: Int) async throws -> (Int, Int) {
        let full = Gate()
        let running = Mutex<(all: Int, hosts: [[UInt8]: Int], most: Int, mostOfOne: Int)>(
            (0, [:], 0, 0))
        let server = LoopbackServer { peer in
            while let head = peer.readHead() {
                let host = Array(head.split(separator: 0x0A)[1])
                let isFull = running.withLock { state in
                    state.all += 1
                    state.hosts[host, default: 0] += 1
                    state.most = max(state.most, state.all)
                    state.mostOfOne = max(state.mostOfOne, state.hosts[host, default: 0])
                    return state.all == target
                }
                if isFull { full.open() }
                full.pass()
                full.open()
                // Time for others to come if they may.
                guard !peer.isClosed(within: 5) else { return }
                running.withLock { state in
                    state.all -= 1
                    state.hosts[host, default: 0] -= 1
                }
                peer.send(answer("201 Created"))
            }
        }
        defer { server.stop() }
        let fetcher = try Fetcher(
            FetchConfiguration(maximumConnections: 10, connectionsPerHost: 3, idleConnections: 10))
        let ends = Ends()
        for number in 0..<count {
            fetcher.start(try request(number % hosts, server.port)) { ends.end($0) }
        }
        await ends.wait(for: count)
        #expect(ends.ok == count)
        await fetcher.close()
        return running.withLock { ($0.most, $0.mostOfOne) }
    }

    @Test("never more to one host at once than its bound, nor in all")
    func bounds() async throws {
        #expect(try await most(40, to: 1, target: 3) == (3, 3))
        let (all, one) = try await most(400, to: 5, target: 10)
        #expect(all == 10 && one <= 3)
    }

    @Test("hosts that hang cost their own requests only")
    func hanging() async throws {
        let hung = LoopbackServer { peer in
            _ = peer.readHead()
            peer.waitForClose()
        }
        defer { hung.stop() }
        let server = LoopbackServer.answering(answer("201 Created"))
        defer { server.stop() }
        let fetcher = try Fetcher(
            FetchConfiguration(maximumConnections: 40, connectionsPerHost: 2, idleConnections: 40))
        let (good, bad) = (Ends(), Ends())
        var handles: [FetchHandle] = []
        // The hanging hosts come first and have the most to do.
        for number in 0..<1000 {
            let request = try request(number % 10, hung.port)
            handles.append(fetcher.start(request) { bad.end($0) })
        }
        for number in 0..<2000 {
            fetcher.start(try request(10 + number % 90, server.port)) { good.end($0) }
        }
        await good.wait(for: 2000)
        #expect(good.ok == 2000)
        // Not one of the others has ended, not even by its timeout.
        #expect(bad.errors == [:])
        for handle in handles { handle.cancel() }
        await bad.wait(for: 1000)
        #expect(bad.errors == [.cancelled: 1000])
        await fetcher.close()
    }

    @Test("the timeout of a request begins when it is started")
    func waiting() async throws {
        let server = LoopbackServer { peer in
            while peer.readHead() != nil {
                guard !peer.isClosed(within: 1000) else { return }
                peer.send(answer("201 Created"))
            }
        }
        defer { server.stop() }
        let fetcher = try Fetcher(FetchConfiguration(connectionsPerHost: 1))
        let ends = Ends()
        for _ in 0..<12 {
            var request = try request(0, server.port)
            request.timeout.total = .seconds(10)
            fetcher.start(request) { ends.end($0) }
        }
        await ends.wait(for: 12)
        #expect(ends.ok == 12)
        await fetcher.close()
    }
}
