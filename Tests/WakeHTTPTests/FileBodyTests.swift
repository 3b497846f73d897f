import Glibc
import TestSupport
import Testing
import WakeSystem

@testable import WakeHTTP

@Suite("File bodies", .timeLimit(.minutes(5)))
struct FileBodyTests {
    private static let size = 5 << 20

    private func serve(
        offset: Int64 = 0, count: Int = Self.size, _ body: (LiveServer, String) async throws -> Void
    ) async throws {
        let directory = try TemporaryDirectory()
        let path = try BodyFile.make(in: directory, size: Self.size)
        try await LiveServer.run(handler: { _, responder in
            responder.respond(BodyFile.response(path, offset: offset, count: count))
        }) { live in try await body(live, path) }
    }

    private func request(_ method: String = "GET") -> String {
        "\(method) / HTTP/1.1\r\nHost: x\r\n\r\n"
    }

    @Test("are sent whole, and the connection goes on")
    func whole() async throws {
        try await serve { live, _ in
            let client = try LoopbackClient(port: live.port)
            for _ in 0..<2 {
                try client.send(request())
                let response = try client.receiveResponse()
                #expect(response.body.count == Self.size)
                #expect(response.body == BodyFile.bytes(count: Self.size))
            }
        }
    }

    @Test("are sent in part")
    func part() async throws {
        try await serve(offset: 1_000_003, count: 77) { live, _ in
            let client = try LoopbackClient(port: live.port)
            try client.send(request() + request("HEAD") + request())
            let expected = (0..<77).map { BodyFile.byte(at: 1_000_003 + $0) }
            #expect(try client.receiveResponse().body == expected)
            #expect(try client.receiveResponse(toHead: true)["Content-Length"] == "77")
            #expect(try client.receiveResponse().body == expected)
        }
    }

    @Test("of no bytes are answered at once")
    func empty() async throws {
        try await serve(count: 0) { live, _ in
            let client = try LoopbackClient(port: live.port)
            try client.send(request() + request())
            #expect(try client.receiveResponse()["Content-Length"] == "0")
            #expect(try client.receiveResponse()["Content-Length"] == "0")
        }
    }

    @Test("that turn out shorter than promised break the connection instead of lying")
    func shortened() async throws {
        try await serve { live, path in
            #expect(unsafe truncate(path, 1_000) == 0)
            let client = try LoopbackClient(port: live.port)
            try client.send(request())
            _ = try client.receive(through: "\r\n\r\n")
            #expect(try client.receiveAll().count == 1_000)
        }
    }

    @Test("leave no descriptor open")
    func descriptors() async throws {
        let directory = try TemporaryDirectory()
        let path = try BodyFile.make(in: directory, size: 10)
        let descriptor: Int32
        do {
            let file = try OpenFile(path, flags: O_RDONLY)
            descriptor = file.descriptor
            let handler: RequestHandler = { _, responder in
                responder.respond(Response(200, body: .file(FileBody(file, count: 10))))
            }
            try await LiveServer.run(handler: handler) { live in
                let client = try LoopbackClient(port: live.port)
                for _ in 0..<3 {
                    try client.send(request())
                    #expect(try client.receiveResponse().body.count == 10)
                }
                #expect(fcntl(descriptor, F_GETFD) >= 0)
            }
        }
    }
}
