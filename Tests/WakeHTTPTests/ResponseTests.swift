import Testing
import WakeSystem

@testable import WakeHTTP

@Suite("A response")
struct ResponseTests {
    @Test("renders status line and fields in order")
    func rendering() {
        let response = Response(200, fields: [("A", "1"), ("B-c", "x y")])
        #expect(
            String(decoding: response.head, as: UTF8.self)
                == "HTTP/1.1 200 OK\r\nA: 1\r\nB-c: x y\r\n")
        #expect(String(decoding: Response(599).head, as: UTF8.self) == "HTTP/1.1 599 \r\n")
    }

    @Test("knows the length of its content")
    func length() {
        #expect(Response(200).contentLength == 0)
        #expect(Response(200, body: .bytes([1, 2])).contentLength == 2)
        #expect(Response(204).contentLength == nil)
        #expect(Response(304).contentLength == nil)
    }

    @Test("of 405 names the methods there are")
    func notAllowed() {
        let response = Response.methodNotAllowed(allow: "GET, HEAD")
        #expect(response.status == 405)
        #expect(String(decoding: response.head, as: UTF8.self).contains("\r\nAllow: GET, HEAD\r\n"))
    }

    @Test("of every refusal is a problem document with its own code")
    func refusals() {
        var codes: Set<String> = []
        for refusal in RequestError.allCases {
            let response = refusal.response(retryAfterSeconds: 7)
            #expect(response.status == refusal.status)
            #expect(response.closes)
            guard case .bytes(let body) = response.body else {
                Issue.record("a refusal has a body")
                continue
            }
            let text = String(decoding: body, as: UTF8.self)
            let head = String(decoding: response.head, as: UTF8.self)
            #expect(text.hasPrefix("{\"title\":\"") && text.hasSuffix("\"}\n"))
            #expect(head.contains("\r\nRetry-After: 7\r\n") == (refusal.status == 503))
            codes.insert(String(text.split(separator: "\"code\":").last ?? ""))
        }
        #expect(codes.count == RequestError.allCases.count)
    }

    @Test("a field that could forge another is a programmer's error")
    func injection() async {
        await #expect(processExitsWith: .failure) {
            _ = Response(200, fields: [("A", "x\r\nB: y")])
        }
        await #expect(processExitsWith: .failure) { _ = Response(200, fields: [("A b", "x")]) }
        await #expect(processExitsWith: .failure) {
            _ = Response(200, fields: [("content-LENGTH", "1")])
        }
    }
}
