import Testing

@testable import WakeHTTP

@Suite("Request targets")
struct RequestTargetTests {
    struct Form: CustomTestStringConvertible {
        let target: String
        let path: String
        let query: String?
        var testDescription: String { target }
    }

    static let forms: [Form] = [
        Form(target: "/", path: "/", query: nil),
        Form(target: "/a/b", path: "/a/b", query: nil),
        Form(target: "/a?", path: "/a", query: ""),
        Form(target: "/a?b=c?d/e", path: "/a", query: "b=c?d/e"),
        Form(target: "/%41%7e%2F", path: "/%41%7e%2F", query: nil),
        Form(target: "//a", path: "//a", query: nil),
        Form(target: "/a:b@c!$&'()*+,;=-._~", path: "/a:b@c!$&'()*+,;=-._~", query: nil),
        Form(target: "http://a.example", path: "/", query: nil),
        Form(target: "http://a.example/", path: "/", query: nil),
        Form(target: "HTTPS://A.EXAMPLE/x?y", path: "/x", query: "y"),
        Form(target: "http://a.example?q=/", path: "/", query: "q=/"),
    ]

    private func parse(_ target: String, host: String = "a.example") throws -> Request {
        let wire = Array("GET \(target) HTTP/1.1\r\nHost: \(host)\r\n\r\n".utf8)
        let run = ParserRun.feed(wire)
        try #require(run.step == .complete(consumed: wire.count))
        return Request(bytes: wire, head: run.head)
    }

    @Test("give their path and query, not decoded", arguments: forms)
    func form(_ form: Form) throws {
        let request = try parse(form.target)
        #expect(Array(request.path) == Array(form.path.utf8))
        #expect(request.query.map(Array.init) == form.query.map { Array($0.utf8) })
    }

    @Test("an absolute target must name the same host as Host")
    func authority() throws {
        _ = try parse("http://a.example:80/", host: "A.example:80")
        _ = try parse("http://[::1]:8080/", host: "[::1]:8080")
        let wire = "GET http://a.example/ HTTP/1.1\r\nHost: b.example\r\n\r\n"
        #expect(ParserRun.feed(wire).step == .invalid(.malformed))
        let port = "GET http://a.example/ HTTP/1.1\r\nHost: a.example:81\r\n\r\n"
        #expect(ParserRun.feed(port).step == .invalid(.malformed))
    }

    @Test("isPath compares whole paths, byte for byte")
    func isPath() throws {
        let request = try parse("/v1/wakes?x")
        #expect(request.isPath("/v1/wakes"))
        #expect(!request.isPath("/v1/wake"))
        #expect(!request.isPath("/v1/wakes/"))
        #expect(!request.isPath("/V1/wakes"))
    }
}
