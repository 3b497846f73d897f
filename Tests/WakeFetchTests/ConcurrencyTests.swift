import Glibc
import Synchronization
import Testing

@testable import WakeFetch

@Suite("Many fetches", .timeLimit(.minutes(5)))
struct ConcurrencyTests {
    @Test("a hundred fetches of one purpose run at once, on one thread of their own")
    func together() async throws {
        let count = 100
        let waiting = Atomic(0)
        let gate = Gate()
        let server = LoopbackServer { peer in
            _ = peer.readHead()
            // Nobody is answered before all have asked.
            if waiting.add(1, ordering: .relaxed).newValue == count {
                for _ in 0..<count { gate.open() }
            }
            gate.pass()
            peer.send(answer("200 OK", "x"))
            peer.waitForClose()
        }
        defer { server.stop() }
        let fetcher = try Fetcher.plain()
        let url = try server.url()
        let threads = Seen<UInt>()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<count {
                group.addTask {
                    _ = try await fetcher.fetch(.get(url)) { _ in
                        threads.note(UInt(pthread_self()))
                        return .proceed
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(server.connections == count)
        #expect(threads.all.count == count)
        #expect(Set(threads.all).count == 1)
        await fetcher.close()
    }

    @Test("a sink that blocks holds up neither the other purposes nor the tasks")
    func blocking() async throws {
        let server = LoopbackServer.answering(answer("200 OK", "x"))
        defer { server.stop() }
        let fetcher = try Fetcher.plain()
        let url = try server.url()
        let gate = Gate()
        let (entered, note) = AsyncStream.makeStream(of: Void.self)
        let blocked = Task {
            try await fetcher.fetch(.get(url, purpose: .stream)) { _ in
                note.yield()
                gate.pass()
                return .proceed
            }
        }
        _ = await entered.first { _ in true }
        for _ in 0..<10 { _ = try await fetcher.collect(.get(url, purpose: .feed)) }
        gate.open()
        #expect(try await blocked.value.status == 200)
        await fetcher.close()
    }

    @Test("cancelling at any moment leaves nothing behind and nobody waiting")
    func cancelling() async throws {
        let server = LoopbackServer { peer in
            while peer.readHead() != nil {
                peer.send("HTTP/1.1 200 OK\r\nContent-Length: 200000\r\n\r\n")
                peer.send([UInt8](repeating: 0x78, count: 200_000))
            }
        }
        defer { server.stop() }
        let fetcher = try Fetcher.plain()
        let url = try server.url()
        var ends: [FetchError?] = []
        for round in 0..<20 {
            let tasks = (0..<10).map { number in
                Task {
                    let purpose = FetchPurpose.allCases[number % 3]
                    return await failure(fetcher, .get(url, purpose: purpose))
                }
            }
            for (number, task) in tasks.enumerated() where number < round { task.cancel() }
            for task in tasks { ends.append(await task.value) }
        }
        #expect(ends.allSatisfy { $0 == nil || $0 == .cancelled })
        #expect(ends.contains(nil))
        #expect(ends.contains(.cancelled))
        await fetcher.close()
    }

    @Test("idle connections are closed after a while, and the next fetch opens one")
    func idleConnections() async throws {
        let (closed, note) = AsyncStream.makeStream(of: Void.self)
        let server = LoopbackServer { peer in
            while peer.readHead() != nil { peer.send(answer("200 OK", "x")) }
            note.yield()
        }
        defer { server.stop() }
        let fetcher = try Fetcher(FetchConfiguration(idleTime: .milliseconds(50)))
        for number in 1...3 {
            #expect(try await fetcher.collect(.get(server.url())).0.status == 200)
            _ = await closed.first { _ in true }
            #expect(server.connections == number)
        }
        await fetcher.close()
    }

    @Test("a head may be cut into pieces anywhere")
    func splitPoints() async throws {
        let response = Array(
            "HTTP/1.1 206 P\r\nContent-Range: bytes 7-8/9\r\nContent-Length: 2\r\n\r\nhi".utf8)
        let split = Atomic(1)
        let server = LoopbackServer { peer in
            while peer.readHead() != nil {
                let at = split.load(ordering: .relaxed)
                peer.send(Array(response[..<at]))
                // Lets the first piece arrive alone.
                guard !peer.isClosed(within: 2) else { return }
                peer.send(Array(response[at...]))
            }
        }
        defer { server.stop() }
        let fetcher = try Fetcher.plain()
        var request = FetchRequest.get(try server.url())
        request.range = 7
        for at in 1..<response.count {
            split.store(at, ordering: .relaxed)
            let (head, body) = try await fetcher.collect(request)
            #expect(
                head
                    == FetchResponse(
                        status: 206, contentLength: 2, contentRangeStart: 7, contentRangeTotal: 9))
            #expect(body == Array("hi".utf8))
        }
        await fetcher.close()
    }

    @Test(
        "a part that was not asked for is refused",
        arguments: [
            (nil, "Content-Range: bytes 0-1/2\r\n"), (7, "Content-Range: bytes 6-7/9\r\n"), (7, ""),
            (7, "Content-Type: multipart/byteranges; boundary=x\r\n"),
        ] as [(UInt64?, String)])
    func foreignRange(range: UInt64?, fields: String) async throws {
        let server = LoopbackServer.answering(answer("206 Partial", fields: fields, "hi"))
        defer { server.stop() }
        let fetcher = try Fetcher.plain()
        var request = FetchRequest.get(try server.url())
        request.range = range
        #expect(await failure(fetcher, request) == .protocolViolation)
        request.range = 7
        await fetcher.close()
    }
}
