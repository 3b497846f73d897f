import Foundation
import TestSupport
import Testing
import WakeModel
import WakeServer
import WakeStore

/// Start reading here: what the service must not keep or say, checked on the built program.
@Suite("What the service keeps and says", .timeLimit(.minutes(5)))
struct ServicePrivacyTests {
    @Test("after DELETE is answered, no file of the service holds a trace of the registration")
    func erasure() async throws {
        let service = try await ServiceUnderTest()
        let kept = TestDevice()
        _ = try service.send("PUT", "/v1/registration", token: kept.token, body: kept.body)
        for round in 0..<10 {
            let device = TestDevice()
            let client = try LoopbackClient(port: service.port)
            let path = "/v1/registration"
            let put = try client.exchange("PUT", path, token: device.token, body: device.body)
            #expect(put.status == 204)
            let access = try client.exchange("GET", path, token: device.token)
            let stored = try #require(try RegistrationResponse.decode(access.body).stored)
            // The control: the search does find what is stored.
            #expect(try service.files(containing: [stored.id]) != [])
            #expect(try service.files(containing: [stored.sealed]) != [])
            let delete = try client.exchange("DELETE", path, token: device.token)
            #expect(delete.status == 204)
            let traces = device.forms + [stored.id, stored.sealed]
            #expect(try service.files(containing: traces) == [], "round \(round)")
        }
    }

    @Test("a moved registration leaves nothing of the push token it had")
    func move() async throws {
        let service = try await ServiceUnderTest()
        let device = TestDevice()
        let path = "/v1/registration"
        _ = try service.send("PUT", path, token: device.token, body: device.body)
        let access = try service.send("GET", path, token: device.token)
        let stored = try #require(try RegistrationResponse.decode(access.body).stored)
        let elsewhere = TestDevice().pushText
        let moved = Array(#"{"service":"apns-sandbox","token":"\#(elsewhere)"}"#.utf8)
        let put = try service.send("PUT", path, token: device.token, body: moved)
        #expect(put.status == 204)
        // Within a second; the time limit is for never.
        while try !service.files(containing: [stored.sealed]).isEmpty { await Task.yield() }
    }

    @Test("tokens, endpoints and addresses reach no log at any level, no error, no metric, no file")
    func planted() async throws {
        let service = try await ServiceUnderTest()
        let device = TestDevice()
        let endpoint = "https://push.planted-endpoint.net/planted-path"
        var said: [UInt8] = []
        func note(_ method: String, _ path: String, _ body: String = "") throws {
            let client = try LoopbackClient(port: service.port)
            let answer = try client.exchange(
                method, path, token: device.token, body: Array(body.utf8))
            said += Array(answer.head.utf8)
            // Subject access is the one answer whose purpose is to show it.
            if path != "/v1/registration" || method != "GET" { said += answer.body }
        }
        let hex = device.pushText
        try note("PUT", "/v1/registration", #"{"service":"apns","token":"\#(hex)"}"#)
        try note("PUT", "/v1/registration", #"{"service":"webpush","endpoint":"\#(endpoint)"}"#)
        try note("GET", "/v1/registration")
        // Every way to fail with the secret in the request.
        try note("PUT", "/v1/registration", #"{"service":"apns","token":"\#(hex)zz"}"#)
        try note("PUT", "/v1/registration", #"{"service":"\#(hex)","token":"\#(hex)"}"#)
        try note("PUT", "/v1/registration", #"{"\#(hex)":"\#(endpoint)"}"#)
        try note("POST", "/v1/registration", hex)
        try note("GET", "/\(device.token)")
        try note("GET", "/v1/wakes?token=\(device.token)")
        try note("GET", "/feed/b/\(hex)")
        let raw = try LoopbackClient(port: service.port)
        try raw.send("BROKEN \(device.token)\r\nX-\(hex)\r\n\r\n")
        said += try raw.receiveAll()
        for command in [["status"], ["status", "--json"], ["check"]] {
            said += Array(try await service.command(command[0]).output.utf8)
        }
        #expect(await service.stop() == 0)
        said += Array(service.program.output.utf8)
        // The control: the log is at debug and did say something.
        #expect(service.program.output.contains("started port="))
        #expect(!service.program.output.contains("127.0.0.1"))
        for trace in device.forms + [Array("planted".utf8)] {
            #expect(Data(said).range(of: Data(trace)) == nil)
            #expect(try service.files(containing: [trace]) == [])
        }
    }

    @Test("listening to wakes and fetching the feed leaves the store byte-identical")
    func anonymous() async throws {
        let service = try await ServiceUnderTest()
        // All but the schedules of broadcasts and rotations, which the service writes down as it
        // starts.
        func store() throws -> [String: Data] {
            try service.files().filter {
                $0.key.hasPrefix("data/") && !$0.key.hasPrefix("data/broadcast")
                    && !$0.key.hasPrefix("data/rotation")
            }
        }
        let before = try store()
        let stream = try LoopbackClient(port: service.port)
        try stream.send("GET /v1/wakes HTTP/1.1\r\nHost: a\r\n\r\n")
        _ = try stream.receive(through: "data: ")
        #expect(try service.send("GET", "/feed/head").body.count > 328)
        #expect(try before == store())
    }
}
