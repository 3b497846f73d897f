import Glibc
import TestSupport
import Testing

@testable import WakeHTTP

@Suite("Listeners", .timeLimit(.minutes(5)))
struct ListenerTests {
    private static let get = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n"

    private func unix(_ path: String, mode: mode_t = 0o600) -> ListenerConfiguration {
        ListenerConfiguration(.unix(path: path, mode: mode), handler: Handlers.echo)
    }

    private func mode(of path: String) -> mode_t {
        var status = stat()
        return unsafe stat(path, &status) == 0 ? status.st_mode & 0o7777 : 0
    }

    @Test("a Unix socket has its mode whatever the umask, serves, and is removed at the end")
    func unixSocket() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/s"
        for wanted in [mode_t(0o600), 0o666] {
            try await LiveServer.run([unix(path, mode: wanted)]) { live in
                #expect(live.server.ports == [0])
                #expect(mode(of: path) == wanted)
                let client = try LoopbackClient(path: path)
                try client.send(Self.get)
                #expect(try client.receiveResponse().text == "get /a 0")
            }
            #expect(unsafe access(path, F_OK) != 0)
        }
    }

    @Test("a socket file nobody listens on is replaced")
    func stale() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/s"
        let left = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) {
            unsafe $0.copyBytes(from: path.utf8)
        }
        let bound = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe bind(left, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        #expect(bound == 0)
        Glibc.close(left)
        #expect(unsafe access(path, F_OK) == 0)
        try await LiveServer.run([unix(path)]) { _ in
            let client = try LoopbackClient(path: path)
            try client.send(Self.get)
            #expect(try client.receiveResponse().status == 200)
        }
    }

    @Test("a socket somebody listens on is left to them, and so is a file that is no socket")
    func occupied() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/s"
        try await LiveServer.run([unix(path)]) { _ in
            #expect(throws: HTTPServerError.addressInUse(listener: 0)) {
                _ = try HTTPServer(listeners: [unix(path)])
            }
            let client = try LoopbackClient(path: path)
            try client.send(Self.get)
            #expect(try client.receiveResponse().status == 200)
        }
        let file = directory.path + "/file"
        Glibc.close(unsafe open(file, O_CREAT | O_WRONLY, 0o600))
        #expect(throws: HTTPServerError.cannotListen(listener: 0, errno: EEXIST)) {
            _ = try HTTPServer(listeners: [unix(file)])
        }
        #expect(unsafe access(file, F_OK) == 0)
    }

    @Test("a path too long for a socket is an error, not a shorter path")
    func longPath() throws {
        let path = "/tmp/" + String(repeating: "x", count: 200)
        #expect(throws: HTTPServerError.cannotListen(listener: 0, errno: ENAMETOOLONG)) {
            _ = try HTTPServer(listeners: [unix(path)])
        }
    }

    @Test("a port in use is named by its listener")
    func portInUse() async throws {
        try await LiveServer.run(handler: Handlers.echo) { live in
            let taken = ListenerConfiguration.Address.tcp(host: "127.0.0.1", port: live.port)
            let free = ListenerConfiguration.Address.tcp(host: "127.0.0.1", port: 0)
            #expect(throws: HTTPServerError.addressInUse(listener: 1)) {
                _ = try HTTPServer(listeners: [
                    ListenerConfiguration(free, handler: Handlers.echo),
                    ListenerConfiguration(taken, handler: Handlers.echo),
                ])
            }
        }
    }

    @Test(
        "several listeners have their own handlers; :: serves both families",
        .enabled(if: LoopbackClient.hasVersion6, "this machine has no ::1"))
    func several() async throws {
        let listeners = [
            ListenerConfiguration(.tcp(host: "::", port: 0), handler: Handlers.echo),
            ListenerConfiguration(.tcp(host: "127.0.0.1", port: 0)) { _, responder in
                responder.respond(Response(204))
            },
        ]
        try await LiveServer.run(listeners) { live in
            #expect(Set(live.server.ports).count == 2)
            for version6 in [true, false] {
                let client = try LoopbackClient(port: live.port, version6: version6)
                try client.send(Self.get)
                #expect(try client.receiveResponse().text == "get /a 0")
            }
            let put = "PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nabcd"
            for (port, status) in zip(live.server.ports, [200, 204]) {
                let client = try LoopbackClient(port: port)
                try client.send(put)
                #expect(try client.receiveResponse().status == status)
            }
        }
    }
}
