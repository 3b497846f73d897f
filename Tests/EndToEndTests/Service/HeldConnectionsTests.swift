import Foundation
import TestSupport
import Testing

@Suite("A crowd of connections that finish no request", .timeLimit(.minutes(15)))
struct HeldConnectionsTests {
    /// What the crowd connects to.
    enum Way: CaseIterable {
        case direct, nginx, haproxy

        var kind: FrontUnderTest.Kind? {
            switch self {
            case .direct: nil
            case .nginx: .nginx
            case .haproxy: .haproxy
            }
        }

        static let possible = allCases.filter { $0.kind.map { $0.program != nil } ?? true }
    }

    /// More with `REVEILLE_LONG=1`: 20,000, and what a front of one process has descriptors for.
    private static let isLong = ProcessInfo.processInfo.environment["REVEILLE_LONG"] != nil
    private static func size(_ way: Way) -> Int {
        isLong ? (way == .direct ? 20_000 : 11_000) : (way == .direct ? 2000 : 800)
    }

    /// Connects so often, from a hundred addresses of each of many networks, and does not let go:
    /// silent, with half a head, with half a body, without reading what was asked for, and as event
    /// streams. Half sent ones go on by a byte now and then. Whoever is turned out comes again.
    private static let crowd = #"""
        import resource, select, socket, sys, time
        port, count, first = map(int, sys.argv[1:])
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        put = b"PUT /v1/registration HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        kinds = [
            b"", put[:11], put + b"Content-Length: 900\r\n\r\n{",
            b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" * 64,
            b"GET /v1/wakes HTTP/1.1\r\nHost: x\r\n\r\n"]
        poll, held, pending, lost = select.epoll(), {}, set(), []
        def connect(index):
            s = socket.socket()
            s.setblocking(False)
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            # IP_BIND_ADDRESS_NO_PORT, ip(7): addresses share the ephemeral ports.
            s.setsockopt(socket.IPPROTO_IP, 24, 1)
            network = (first + index) // 100
            s.bind(("127.%d.%d.%d" % (2 + network // 250, network % 250, 1 + index % 100), 0))
            s.connect_ex(("127.0.0.1", port))
            held[s.fileno()] = (s, index)
            pending.add(s.fileno())
            poll.register(s.fileno(), select.EPOLLOUT)
        def send(number, data):
            try:
                held[number][0].send(data)
            except BlockingIOError:
                pass
            except OSError:
                drop(number)
        def drop(number):
            s, index = held.pop(number)
            pending.discard(number)
            s.close()
            lost.append(index)
        started, isReady, step, end = 0, False, 0, time.monotonic() + 900
        while time.monotonic() < end:
            while started < count and len(pending) < 100:
                connect(started)
                started += 1
            for number, event in poll.poll(0.1):
                if number not in held:
                    continue
                if event & (select.EPOLLERR | select.EPOLLHUP | select.EPOLLRDHUP):
                    drop(number)
                elif number in pending:
                    pending.discard(number)
                    # It reads nothing, and is told of the far end's close alone.
                    poll.modify(number, select.EPOLLRDHUP)
                    send(number, kinds[held[number][1] % 5])
            if started == count and not isReady and not pending:
                isReady = True
                print("ready", len(held), flush=True)
            if isReady:
                for index in lost[:20]:
                    connect(index)
                del lost[:20]
            step += 1
            if step % 50 == 0:
                for number, (s, index) in list(held.items()):
                    if index % 5 in (1, 2) and number not in pending:
                        send(number, b"x")
        """#

    private func crowd(_ way: Way, at port: UInt16) async throws -> [RunningProgram] {
        let size = Self.size(way)
        let programs = try stride(from: 0, to: size, by: 5000).map { first in
            try RunningProgram(
                path: "/usr/bin/env",
                [
                    "python3", "-c", Self.crowd, "\(port)", "\(min(5000, size - first))",
                    "\(first)",
                ])
        }
        for program in programs { _ = try await program.line(containing: "ready") }
        return programs
    }

    @Test(
        "keeps nobody from registering and deleting, nor the operator from the status",
        arguments: Way.possible)
    func others(_ way: Way) async throws {
        // All that are registered here come from one network.
        let registration = "[registration]\nnew-per-prefix = 100000"
        let service: ServiceUnderTest
        var front: FrontUnderTest?
        if let kind = way.kind {
            let proxy = kind.isTellingNetworks ? "proxy-protocol = on\n" : ""
            service = try await ServiceUnderTest(
                listen: "unix:http.sock", extra: proxy + registration)
            front = try await FrontUnderTest(kind, before: service, change: Self.widened)
        } else {
            let connections = Self.isLong ? 18_000 : 1500
            service = try await ServiceUnderTest(
                extra: "connections = \(connections)\n" + registration)
        }
        let port = front?.port ?? service.port
        let programs = try await crowd(way, at: port)
        defer { for program in programs { program.signal(SIGTERM) } }
        var longest = Duration.zero
        for round in 0..<(Self.isLong ? 300 : 30) {
            let device = TestDevice()
            for method in ["PUT", "DELETE"] {
                let start = ContinuousClock.now
                let client = try LoopbackClient(port: port)
                let answer = try client.exchange(
                    method, "/v1/registration", token: device.token,
                    body: method == "PUT" ? device.body : [])
                #expect(answer.status == 204, "round \(round)")
                longest = max(longest, ContinuousClock.now - start)
            }
            guard round.isMultiple(of: 10) else { continue }
            let status = try await service.command("status")
            #expect(status.status == 0, "\(status.output)")
        }
        print("\(way), crowd of \(Self.size(way)): the longest answer took \(longest)")
        #expect(programs.allSatisfy { $0.end == nil })
        _ = await front?.stop()
        #expect(await service.stop() == 0)
    }

    /// As many connections as one process may have, no certificates, and as many requests of one
    /// network as this test makes.
    private static func widened(_ text: String) -> String {
        [
            (" ssl backlog", " backlog"), (" ssl;", ";"),
            ("worker_connections 2048", "worker_connections 19900"), ("rate=20r", "rate=9000r"),
            ("global\n", "global\n    no strict-limits\n    ulimit-n 19900\n"),
            ("maxconn 1000\n", "maxconn 13000\n"),
        ].reduce(text) { $0.replacing($1.0, with: $1.1) }
            .replacing(/ssl crt .*/) { _ in "" }
    }
}
