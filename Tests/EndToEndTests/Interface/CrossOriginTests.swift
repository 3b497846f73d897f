import Foundation
import TestSupport
import Testing

@Suite("Web pages of other origins", .timeLimit(.minutes(5)))
struct CrossOriginTests {
    @Test(
        "a page that is named registers, listens, fetches and deletes; another may not",
        .enabled(if: Browser.program != nil, "chromium is not installed (apt: chromium)"))
    func browser() async throws {
        // Their /health is a page of their origins, without a content policy.
        let named = try await ServiceUnderTest(serving: .nothing)
        let other = try await ServiceUnderTest(serving: .nothing)
        let service = try await ServiceUnderTest(extra: "origins = https://a.example \(named.url)")
        _ = try await service.publish([TestDevice().pushText], notes: [])
        let browser = try await Browser()
        let device = TestDevice()
        try browser.open(named.url + "/health", width: 800, height: 600)
        let seen = try browser.value(script(service, device, "PUT", "GET"), as: String.self)
        #expect(seen == "204 200 true 1 true bytes 0-99/4096")
        #expect(try service.rows() == 1)
        try browser.open(other.url + "/health", width: 800, height: 600)
        let refused = try browser.value(script(service, device, "DELETE"), as: String.self)
        #expect(refused == "TypeError")
        #expect(try service.rows() == 1)
        try browser.open(named.url + "/health", width: 800, height: 600)
        let deleted = try browser.value(script(service, device, "DELETE"), as: String.self)
        #expect(deleted == "204 1 true bytes 0-99/4096")
        #expect(try service.rows() == 0)
        await browser.stop()
    }

    /// Requests to the registration, then the first event, the head and a part of a batch.
    private func script(
        _ service: ServiceUnderTest, _ device: TestDevice, _ methods: String...
    ) throws -> String {
        let names = try FileManager.default.contentsOfDirectory(
            atPath: service.directory.path + "/service/feed/b")
        let requests = methods.map { method in
            let body = String(decoding: device.body, as: UTF8.self)
            return """
                answer = await fetch("\(service.url)/v1/registration", {
                    method: "\(method)", headers: {Authorization: "Bearer \(device.token)",
                    "Content-Type": "application/json", Padding: "x"},
                    body: "\(method)" == "PUT" ? `\(body)` : undefined});
                seen.push(answer.status);
                if ("\(method)" == "GET") seen.push((await answer.json()).stored);
                """
        }.joined(separator: "\n")
        return """
            (async () => {
                let seen = [], answer;
                \(requests)
                seen.push(await new Promise(resolve => {
                    const stream = new EventSource("\(service.url)/v1/wakes");
                    stream.addEventListener("wake", event => {
                        stream.close();
                        resolve(event.data);
                    });
                }));
                answer = await fetch("\(service.url)/feed/head", {cache: "no-store"});
                seen.push((await answer.arrayBuffer()).byteLength > 328);
                answer = await fetch("\(service.url)/feed/b/\(names.first ?? "")",
                    {headers: {Range: "bytes=0-99"}, cache: "no-store"});
                seen.push(answer.headers.get("Content-Range").replace(/[0-9]+$/, "4096"));
                return seen.join(" ");
            })().catch(error => error.name)
            """
    }

    @Test("who asks no permission gets no word of it; answers differ by origin alone")
    func fields() async throws {
        let origin = "https://app.example.org"
        for (line, allowed, vary) in [
            ("", nil, nil), ("origins = *", "*", nil),
            ("origins = \(origin) tauri://localhost", origin, "Origin"),
        ] {
            let service = try await ServiceUnderTest(extra: line)
            for path in ["/v1/registration", "/feed/x", "/v1/policy"] {
                let answer = try exchange(service, "GET", path, "Origin: \(origin)\r\n")
                #expect(answer["Access-Control-Allow-Origin"] == allowed)
                #expect(answer["Vary"] == vary)
                #expect(
                    answer["Access-Control-Expose-Headers"]
                        == allowed.map { _ in "Content-Range, Date, Retry-After, Reveille-Program" }
                )
                #expect(answer["Date"] != nil)
                let stranger = try exchange(service, "GET", path, "Origin: https://x.example\r\n")
                #expect(stranger["Access-Control-Allow-Origin"] == (allowed == "*" ? "*" : nil))
                #expect(stranger["Vary"] == vary)
            }
            let question = "Origin: \(origin)\r\nAccess-Control-Request-Method: PUT\r\n"
            let permission = try exchange(service, "OPTIONS", "/v1/registration", question)
            #expect(permission.status == (line.isEmpty ? 405 : 204))
            #expect((permission["Access-Control-Allow-Methods"] == nil) == line.isEmpty)
            // Without a question it is a method that the path does not know.
            #expect(try exchange(service, "OPTIONS", "/v1/registration", "").status == 405)
            #expect(await service.stop() == 0)
        }
    }

    private func exchange(
        _ service: ServiceUnderTest, _ method: String, _ path: String, _ fields: String
    ) throws -> WireResponse {
        let client = try LoopbackClient(port: service.port)
        try client.send("\(method) \(path) HTTP/1.1\r\nHost: localhost\r\n\(fields)\r\n")
        return try client.receiveResponse()
    }
}
