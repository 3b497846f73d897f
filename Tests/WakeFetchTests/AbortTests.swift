import TestSupport
import Testing
import WakeSystem

@testable import WakeFetch

@Suite("Fetches end when they should", .timeLimit(.minutes(5)))
struct AbortTests {
    /// Sends a head, then a byte every `milliseconds` until the client closes, which it reports.
    private static func trickle(
        every milliseconds: Int32, head: String = "HTTP/1.1 200 OK\r\n\r\n",
        closed: AsyncStream<Void>.Continuation
    ) -> LoopbackServer {
        LoopbackServer { peer in
            _ = peer.readHead()
            peer.send(head)
            while !peer.isClosed(within: milliseconds), peer.send("x") {}
            closed.yield()
        }
    }

    private func timeout(
        total: Duration? = nil, throughput: FetchTimeout.Throughput = .idle(.seconds(30))
    ) -> FetchTimeout {
        FetchTimeout(connect: .seconds(120), total: total, throughput: throughput)
    }

    @Test(
        "a stalled or trickling sender times out, and the connection is closed",
        arguments: [
            // An hour: only the limit can end the fetch within the suite's time.
            (FetchTimeout.Throughput.idle(.milliseconds(300)), Int32(3_600_000)),
            (.atLeast(bytesPerSecond: 1000, over: .milliseconds(400)), 3_600_000),
            (.atLeast(bytesPerSecond: 1000, over: .milliseconds(400)), 20),
        ])
    func slow(throughput: FetchTimeout.Throughput, every: Int32) async throws {
        let (closed, note) = AsyncStream.makeStream(of: Void.self)
        let server = Self.trickle(every: every, closed: note)
        defer { server.stop() }
        let fetcher = try Fetcher.plain()
        let clock = ContinuousClock()
        let start = clock.now
        let request = FetchRequest.get(try server.url(), timeout: timeout(throughput: throughput))
        #expect(await failure(fetcher, request) == .timeout)
        #expect(start.duration(to: clock.now) >= .milliseconds(250))
        _ = await closed.first { _ in true }
        await fetcher.close()
    }

    @Test("keep-alives far below any rate keep a stream that may idle")
    func keepAlive() async throws {
        let (closed, note) = AsyncStream.makeStream(of: Void.self)
        let server = Self.trickle(every: 500, closed: note)
        defer { server.stop() }
        let fetcher = try Fetcher.plain()
        let gathered = Gathered()
        let error = await failure { () async throws(FetchError) in
            let request = FetchRequest(
                try FetchURL("\(server.base)/"), limit: .max,
                timeout: self.timeout(throughput: .idle(.seconds(10))), purpose: .stream)
            _ = try await fetcher.fetch(request) { chunk in
                gathered.append(chunk)
                return gathered.bytes.count < 25 ? .proceed : .stop
            }
        }
        // 25 bytes at two a second take longer than the idle time.
        #expect(error == .stopped)
        #expect(gathered.bytes.count == 25)
        _ = await closed.first { _ in true }
        await fetcher.close()
    }

    @Test("few bytes may wait for more: the kernel wakes nothing for them")
    func leastBytes() async throws {
        let (closed, note) = AsyncStream.makeStream(of: Void.self)
        let server = Self.trickle(every: 20, closed: note)
        defer { server.stop() }
        let fetcher = try Fetcher.plain()
        let gathered = Gathered()
        var request = FetchRequest(
            try FetchURL("\(server.base)/"), limit: .max,
            timeout: timeout(throughput: .idle(.seconds(10))), purpose: .stream)
        request.leastBytes = 6
        let asked = request
        let error = await failure { () async throws(FetchError) in
            _ = try await fetcher.fetch(asked) { chunk in
                // The first ones may come before the wait begins.
                if gathered.bytes.count >= 12 { #expect(chunk.count >= 6) }
                gathered.append(chunk)
                return gathered.bytes.count < 60 ? .proceed : .stop
            }
        }
        #expect(error == .stopped)
        _ = await closed.first { _ in true }
        await fetcher.close()
    }

    @Test(
        "a server that says nothing, or half a head, times out",
        arguments: ["", "HTTP/1.1 200 OK\r\nContent-Le", "HTTP/1.1 100 Continue\r\n\r\n"])
    func silent(head: String) async throws {
        let (closed, note) = AsyncStream.makeStream(of: Void.self)
        let server = Self.trickle(every: 3_600_000, head: head, closed: note)
        defer { server.stop() }
        let fetcher = try Fetcher.plain()
        #expect(await failure(fetcher, .get(try server.url(), timeout: .short)) == .unanswered)
        _ = await closed.first { _ in true }
        await fetcher.close()
    }

    @Test("the total time ends a fetch whatever its throughput")
    func total() async throws {
        let (closed, note) = AsyncStream.makeStream(of: Void.self)
        let server = Self.trickle(every: 20, closed: note)
        defer { server.stop() }
        let fetcher = try Fetcher.plain()
        let request = FetchRequest.get(
            try server.url(), timeout: timeout(total: .milliseconds(500)))
        #expect(await failure(fetcher, request) == .timeout)
        _ = await closed.first { _ in true }
        await fetcher.close()
    }

    @Test("the time a sink takes does not count as the server's")
    func slowSink() async throws {
        let gate = Gate()
        let server = LoopbackServer { peer in
            _ = peer.readHead()
            peer.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\na")
            // Longer than the idle time, while the sink holds the first byte.
            guard !peer.isClosed(within: 10_500) else { return }
            gate.open()
            guard !peer.isClosed(within: 100) else { return }
            peer.send("b")
            peer.waitForClose()
        }
        defer { server.stop() }
        let fetcher = try Fetcher.plain()
        let gathered = Gathered()
        let patient = timeout(throughput: .idle(.seconds(10)))
        _ = try await fetcher.fetch(.get(server.url(), timeout: patient)) { chunk in
            if gathered.chunks == 0 { gate.pass() }
            gathered.append(chunk)
            return .proceed
        }
        #expect(gathered.bytes == Array("ab".utf8))
        await fetcher.close()
    }

    @Test("cancelling ends a fetch that may last for an hour, before, in or between the bytes")
    func cancelling() async throws {
        let hour = timeout(throughput: .idle(.seconds(3600)))
        for head in ["", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\n\r\n"] {
            let (events, note) = AsyncStream.makeStream(of: Bool.self)
            let server = LoopbackServer { peer in
                _ = peer.readHead()
                peer.send(head)
                note.yield(false)
                note.yield(peer.waitForClose())
            }
            let fetcher = try Fetcher.plain()
            let url = try server.url()
            let running = Task { await failure(fetcher, .get(url, timeout: hour)) }
            var received = events.makeAsyncIterator()
            #expect(await received.next() == false)
            running.cancel()
            #expect(await running.value == .cancelled)
            #expect(await received.next() == true)
            await fetcher.close()
            server.stop()
        }
    }

    @Test("a task that was cancelled before sends nothing")
    func cancelledBefore() async throws {
        let server = LoopbackServer.answering(answer())
        defer { server.stop() }
        let fetcher = try Fetcher.plain()
        let url = try server.url()
        let (start, go) = AsyncStream.makeStream(of: Void.self)
        let task = Task {
            _ = await start.first { _ in true }
            return await failure(fetcher, .get(url))
        }
        task.cancel()
        go.finish()
        #expect(await task.value == .cancelled)
        await fetcher.close()
        #expect(server.connections == 0)
    }

    @Test("stop in the head or in the body ends the fetch before the next chunk")
    func stopping() async throws {
        let (closed, note) = AsyncStream.makeStream(of: Void.self)
        let server = LoopbackServer { peer in
            _ = peer.readHead()
            peer.send("HTTP/1.1 200 OK\r\n\r\n")
            while peer.send([UInt8](repeating: 0x78, count: 4096)) {}
            note.yield()
        }
        defer { server.stop() }
        let fetcher = try Fetcher.plain()
        let request = FetchRequest.get(try server.url(), limit: .max)
        for inHead in [true, false] {
            let gathered = Gathered()
            let error = await failure { () async throws(FetchError) in
                _ = try await fetcher.fetch(
                    request, onHead: { _ in inHead ? .stop : .proceed },
                    sink: { chunk in
                        gathered.append(chunk)
                        return .stop
                    })
            }
            #expect(error == .stopped)
            #expect(gathered.chunks == (inHead ? 0 : 1))
            _ = await closed.first { _ in true }
        }
        await fetcher.close()
    }

    @Test("closing a fetcher ends what runs")
    func closing() async throws {
        let (events, note) = AsyncStream.makeStream(of: Void.self)
        let server = LoopbackServer { peer in
            _ = peer.readHead()
            note.yield()
            peer.waitForClose()
        }
        defer { server.stop() }
        let fetcher = try Fetcher.plain()
        let url = try server.url()
        let running = Task { await failure(fetcher, .get(url)) }
        _ = await events.first { _ in true }
        await fetcher.close()
        #expect(await running.value == .closed)
        await fetcher.close()
    }

    @Test("nobody there is a network error")
    func refused() async throws {
        let nobody = try WireServer.reservedPort()
        let url = try FetchURL("\(nobody.url)/")
        let gone = LoopbackServer { peer in _ = peer.readHead() }
        defer { gone.stop() }
        let fetcher = try Fetcher.plain()
        #expect(await failure(fetcher, .get(try gone.url()))?.isNetwork == true)
        #expect(await failure(fetcher, .get(url))?.isNetwork == true)
        await fetcher.close()
    }
}
