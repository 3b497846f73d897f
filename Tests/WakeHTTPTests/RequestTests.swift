import Testing
import WakeSystem

@testable import WakeHTTP

@Suite("A request")
struct RequestTests {
    private func make(_ fields: String, body: String = "") throws -> Request {
        let wire = Array(
            ("PUT /x HTTP/1.1\r\nHost: a.example\r\nContent-Length: \(body.utf8.count)\r\n"
                + fields + "\r\n" + body).utf8)
        let run = ParserRun.feed(wire)
        try #require(run.step == .complete(consumed: wire.count))
        return Request(bytes: wire, head: run.head)
    }

    private func texts(_ request: Request, _ name: StaticString) -> [String] {
        request.values(of: name).map { String(decoding: $0, as: UTF8.self) }
    }

    @Test(
        "gives all values of a field in order, in any case of its name, without outer white space")
    func values() throws {
        let request = try make("A: 1\r\nB:2\r\na:  3 4\t \r\nAA: 5\r\nA:\r\n")
        #expect(texts(request, "a") == ["1", "3 4", ""])
        #expect(texts(request, "B") == ["2"])
        #expect(texts(request, "C") == [])
        #expect(texts(request, "host") == ["a.example"])
    }

    @Test("gives an only value when there is exactly one")
    func onlyValue() throws {
        let request = try make("A: 1\r\nA: 2\r\nB: x:y\r\n")
        #expect(request.onlyValue(of: "A") == nil)
        #expect(request.onlyValue(of: "b").map(Array.init) == Array("x:y".utf8))
        #expect(request.onlyValue(of: "C") == nil)
    }

    @Test("keeps bytes beyond ASCII in values as they are")
    func opaque() throws {
        let request = try make("A: é\r\n")
        #expect(request.onlyValue(of: "A").map(Array.init) == Array("é".utf8))
    }

    @Test("gives its body")
    func body() throws {
        #expect(Array(try make("", body: "{\"a\":1}").body) == Array("{\"a\":1}".utf8))
        #expect(try make("").body.isEmpty)
    }

    @Test(
        "has a body of JSON by its type, with or without the charset, or without any type",
        arguments: [
            ("", true), ("application/json", true), ("Application/JSON", true),
            ("application/json; charset=utf-8", true), ("application/json;charset=\"UTF-8\"", true),
            ("application/json; charset=utf-16", false), ("application/json; a=b", false),
            ("application/jsonl", false), ("application/json,text/plain", false),
            ("text/plain", false), ("text/json", false), (" ", false),
            ("application/x-www-form-urlencoded", false),
            ("application/json\r\nContent-Type: x", false),
        ])
    func types(_ type: String, _ isJSON: Bool) throws {
        let field = type.isEmpty ? "" : "Content-Type: \(type)\r\n"
        #expect(try make(field, body: "{}").hasJSONBody == isJSON)
        #expect(try make(field).hasJSONBody)
    }

    @Test("shows nothing of its bytes in any text made of it")
    func redacted() throws {
        let request = try make("Authorization: Bearer s3cret\r\n", body: "t0ken")
        var dumped = ""
        dump(request, to: &dumped)
        for text in ["\(request)", String(reflecting: request), dumped] {
            #expect(!text.contains("s3cret"))
            #expect(!text.contains("t0ken"))
            #expect(!text.contains("/x"))
        }
    }
}
