import Glibc
import TestSupport
import Testing

@testable import WakeFetch

@Suite("Memory stays small", .timeLimit(.minutes(5)))
struct MemoryTests {
    @Test("an endless body costs no memory, whether it is refused at its cap or read slowly")
    func endless() async {
        // Peak memory is the process's, hence one of its own.
        await #expect(processExitsWith: .success) {
            let piece = [UInt8](repeating: 0x78, count: 1 << 20)
            let chunk = Array("100000\r\n".utf8) + piece + [0x0D, 0x0A]
            let full = Gate()
            let taken = Seen<Int>()
            let server = LoopbackServer { peer in
                guard let head = peer.readHead() else { return }
                peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
                if String(decoding: head, as: UTF8.self).contains("/slow") {
                    peer.send(chunk)
                    taken.note(peer.sendUntilFull(piece))
                    full.open()
                    peer.waitForClose()
                } else {
                    while peer.send(chunk) {}
                }
            }
            let fetcher = try Fetcher.plain()
            let before = peakMemory()
            for _ in 0..<20 {
                #expect(await failure(fetcher, .get(try server.url())) == .tooLarge)
            }
            let slow = await failure { () async throws(FetchError) in
                let url = try FetchURL("\(server.base)/slow")
                _ = try await fetcher.fetch(.get(url, limit: .max)) { _ in
                    // Until the sender can send no more.
                    full.pass()
                    return .stop
                }
            }
            #expect(slow == .stopped)
            #expect(taken.all.count == 1)
            // The kernel's own buffers, at both ends, and what libcurl has read.
            let most = Sockets.largestBuffer("tcp_wmem") + Sockets.largestBuffer("tcp_rmem")
            #expect(taken.all.allSatisfy { $0 < most + 16 << 20 })
            // A limit far above what memory may hold: read at full speed, to the end.
            let long = LoopbackServer { peer in
                _ = peer.readHead()
                peer.send("HTTP/1.1 200 OK\r\nContent-Length: \(512 << 20)\r\n\r\n")
                for _ in 0..<512 { peer.send(piece) }
                peer.waitForClose()
            }
            let bytes = Seen<Int>()
            _ = try await fetcher.fetch(.get(long.url(), limit: .max)) { piece in
                if piece.count > 65536 { bytes.note(piece.count) }
                return .proceed
            }
            #expect(bytes.all.isEmpty)
            let growth = peakMemory() - before
            #expect(growth < 16 << 20, "grew by \(growth) bytes")
            await fetcher.close()
        }
    }

    @Test("five hundred fetches leave no descriptor behind")
    func descriptors() async {
        await #expect(processExitsWith: .success) {
            func count() -> Int { (0..<1024).count { fcntl(Int32($0), F_GETFD) >= 0 } }
            let server = LoopbackServer { peer in
                _ = peer.readHead()
                peer.send(answer("200 OK", "x"))
            }
            let first = try Fetcher.plain()
            _ = try await first.collect(.get(server.url()))
            await first.close()
            let before = count()
            for _ in 0..<50 {
                let fetcher = try Fetcher.plain()
                for _ in 0..<10 { _ = try await fetcher.collect(.get(server.url())) }
                await fetcher.close()
            }
            // The server's side of the last connections may still be closing.
            let patience = ContinuousClock.now + .seconds(200)
            while count() > before + 4, ContinuousClock.now < patience { await Task.yield() }
            #expect(count() <= before + 4)
        }
    }

    @Test("commands that a program starts do not inherit its connections")
    func inheritance() async throws {
        let server = LoopbackServer.answering(answer("200 OK", "x"))
        defer { server.stop() }
        let fetcher = try Fetcher.plain()
        let port = server.port
        let flags = Seen<Int32>()
        _ = try await fetcher.fetch(.get(server.url())) { _ in
            for descriptor in 0..<Int32(1024) where Sockets.peerPort(descriptor) == port {
                flags.note(fcntl(descriptor, F_GETFD))
            }
            return .proceed
        }
        #expect(flags.all == [FD_CLOEXEC])
        await fetcher.close()
    }
}
