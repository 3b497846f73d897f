import Foundation
import TestSupport
import Testing

/// The configuration of a service that goes on: `reveille reload`, and SIGHUP.
@Suite("Reloading the configuration", .timeLimit(.minutes(5)))
struct ReloadTests {
    private func change(
        _ service: ServiceUnderTest, _ body: (String) -> String
    ) throws {
        let text = try String(contentsOfFile: service.configuration, encoding: .utf8)
        try body(text).write(toFile: service.configuration, atomically: true, encoding: .utf8)
    }

    @Test("a key file that was replaced is used in the next broadcast; no connection is dropped")
    func rotatedKey() async throws {
        let mock = try await LoopbackAPNs()
        let former = try SigningKeyPair()
        let service = try await ServiceUnderTest(
            sections: mock.section.replacing(mock.pair.privatePath, with: former.privatePath)
                + "\n[broadcast]\nheartbeat = off\n",
            serving: .nothing)
        let kept = try LoopbackClient(port: service.port)
        let devices = (0..<5).map { _ in TestDevice() }
        for device in devices {
            let put = try kept.exchange(
                "PUT", "/v1/registration", token: device.token, body: device.body)
            #expect(put.status == 204)
        }
        let stream = try LoopbackClient(port: service.port)
        try stream.send("GET /v1/wakes HTTP/1.1\r\nHost: x\r\n\r\n")
        _ = try stream.receive(through: "data: 0")
        let refused = try await service.command("broadcast", "--force")
        #expect(refused.status == 1 && refused.output.contains("0 accepted"), "\(refused.output)")
        _ = try stream.receive(through: "data: 0")

        let path = URL(filePath: former.privatePath)
        try Data(contentsOf: URL(filePath: mock.pair.privatePath)).write(to: path)
        let reload = try await service.command("reload")
        #expect(reload.status == 0, "\(reload.output)")
        #expect(reload.output == "gateways made again: apns\n")
        let again = try await service.command("reload")
        #expect(again.output == "nothing has changed\n")
        let sent = try await service.command("broadcast", "--force")
        #expect(sent.status == 0 && sent.output.contains("5 accepted"), "\(sent.output)")
        _ = try stream.receive(through: "data: 0")
        let get = try kept.exchange("GET", "/v1/registration", token: devices[0].token)
        #expect(get.status == 200)
        #expect(try await mock.mock.report().distinct == 5)
    }

    @Test("with few descriptors a push service is added as a restart adds it")
    func fewDescriptors() async throws {
        let mock = try await LoopbackAPNs()
        let installation = try await Installation()
        let program = RunningProgram.folder.appending(path: "reveille").path
        func serve() throws -> RunningProgram {
            try RunningProgram(
                path: "/bin/sh",
                [
                    "-c", "ulimit -n 1400 && exec \"$0\" \"$@\"", program, "serve", "--config",
                    installation.file,
                ])
        }
        var service = try serve()
        _ = try await service.line(containing: "started port=")
        try installation.append(mock.section)
        let reload = try await installation.run("reload")
        #expect(reload.status == 0, "\(reload.output)")
        #expect(reload.output.contains("gateways made again: apns"), "\(reload.output)")
        for _ in 0..<2 {
            service.signal(SIGTERM)
            #expect(await service.exit() == 0, "\(service.output)")
            service = try serve()
            _ = try await service.line(containing: "started port=")
        }
        service.signal(SIGTERM)
        #expect(await service.exit() == 0)
    }

    @Test("a file that others can write, or that was emptied, changes nothing")
    func unbelievable() async throws {
        let service = try await ServiceUnderTest()
        let text = try String(contentsOfFile: service.configuration, encoding: .utf8)
        #expect(unsafe chmod(service.configuration, 0o666) == 0)
        let open = try await service.command("reload")
        #expect(open.status == 78 && open.output.contains("others can change it"), "\(open.output)")
        #expect(unsafe chmod(service.configuration, 0o600) == 0)
        for content in ["", "# [apns]\n"] {
            try content.write(toFile: service.configuration, atomically: true, encoding: .utf8)
            for word in ["reload", "broadcast", "status"] {
                let refused = try await service.command(word)
                #expect(refused.status == 78, "\(word)")
                #expect(refused.output.contains("nothing is set in it"), "\(refused.output)")
            }
            service.program.signal(SIGHUP)
            _ = try await service.program.line(containing: "reload-refused refusal=file")
        }
        try text.write(toFile: service.configuration, atomically: true, encoding: .utf8)
        #expect(try await service.command("reload").output == "nothing has changed\n")
    }

    @Test("the page for people names who runs the service, from the next reader on")
    func page() async throws {
        let service = try await ServiceUnderTest()
        #expect(try !service.send("GET", "/").text.contains("The operator of this service"))
        try change(service) {
            $0 + "\n[page]\noperator = Health & Co\ncontact = privacy@example.org\n"
        }
        #expect(try await service.command("check").status == 0)
        #expect(try await service.command("reload").status == 0)
        let page = try service.send("GET", "/").text
        #expect(page.contains("<p>Health &amp; Co</p>"))
        #expect(page.contains("<a href=\"mailto:privacy@example.org\">"))
    }

    @Test("sections turn on and off, and what needs a restart is named and keeps its value")
    func sections() async throws {
        // So that a small limit of descriptors has room for one more gateway.
        let service = try await ServiceUnderTest(extra: "connections = 100")
        let device = TestDevice()
        let fcm = Array(#"{"service":"fcm","token":"a-push-token"}"#.utf8)
        func put() throws -> UInt16 {
            UInt16(
                try service.send("PUT", "/v1/registration", token: device.token, body: fcm).status)
        }
        #expect(try put() == 422)
        let account = try ServiceAccountFile()
        try change(service) {
            $0.replacing("listen = 127.0.0.1:0", with: "listen = 127.0.0.1:1")
                .replacing("level = debug", with: "level = error") + """

                    [fcm]
                    key = \(account.file)

                    """
        }
        let on = try await service.command("reload", "--json")
        #expect(on.status == 0, "\(on.output)")
        #expect(
            on.output == #"{"changed":["log.level","fcm.key"],"gateways":["fcm"],"#
                + #""restart":["http.listen"]}"# + "\n")
        #expect(try put() == 204)
        _ = try await service.program.line(containing: "restart-needed section=http key=listen")
        try service.removeSection("fcm")
        let off = try await service.command("reload")
        #expect(off.output.contains("in force: fcm.key\n"), "\(off.output)")
        #expect(off.output.contains("in force after a restart: http.listen\n"))
        #expect(try put() == 422)
    }

    @Test("a feed elsewhere is watched from the reload on, and not any more after the next")
    func watch() async throws {
        let site = try await ServiceUnderTest()
        let secret = String(repeating: "5a", count: 16)
        _ = try await site.publish([secret], notes: ["a note"])
        let service = try await ServiceUnderTest()
        try change(service) {
            $0.replacing(
                "[broadcast]\n",
                with: "[broadcast]\nwatch = \(site.url)/feed\nwatch-key = \(site.feedKey)\n")
        }
        let on = try await service.command("reload")
        #expect(
            on.output == "in force: broadcast.watch, broadcast.watch-key\n", "\(on.output)")
        let line = try await service.program.line(containing: "broadcast-started")
        #expect(line.contains("sequence=1 ") && line.contains("reasons=watched"))
        try change(service) { $0.replacing("\nwatch-key = ", with: "\nwatch-key = x") }
        let wrong = try await service.command("reload")
        #expect(wrong.status == 78 && wrong.output.contains("watch-key"), "\(wrong.output)")
        try change(service) { $0.replacing("\nwatch-key = x", with: "\nwatch-key = ") }
        let still = try await service.command("broadcast", "--force")
        #expect(still.output.contains("broadcast of sequence 1 "), "\(still.output)")
        try change(service) { $0.replacing(/\nwatch[^\n]*/) { _ in "" } }
        #expect(try await service.command("reload").status == 0)
        let own = try await service.command("broadcast", "--force")
        #expect(own.output.contains("broadcast of sequence 0 "), "\(own.output)")
    }

    @Test("the limits of new registrations change; what was counted stays counted")
    func newRegistrations() async throws {
        let service = try await ServiceUnderTest(
            sections: "\n[registration]\nnew-per-day = 3\n")
        func put() throws -> Int {
            let device = TestDevice()
            return try service.send(
                "PUT", "/v1/registration", token: device.token, body: device.body
            ).status
        }
        #expect(try (0..<4).map { _ in try put() } == [204, 204, 204, 429])
        try change(service) { $0.replacing("new-per-day = 3", with: "new-per-day = 5") }
        let more = try await service.command("reload")
        #expect(more.output == "in force: registration.new-per-day\n", "\(more.output)")
        #expect(try (0..<3).map { _ in try put() } == [204, 204, 429])
        try change(service) { $0.replacing("new-per-day = 5", with: "new-per-day = 1") }
        #expect(try await service.command("reload").status == 0)
        #expect(try put() == 429)
    }

    @Test("a file that is wrong changes nothing, and both ways say why")
    func mistakes() async throws {
        let service = try await ServiceUnderTest()
        let text = try String(contentsOfFile: service.configuration, encoding: .utf8)
        let device = TestDevice()
        for (wrong, refusal, words) in [
            ("nonsense\n" + text, "configuration line=1", "line 1: expected key = value"),
            (
                text.replacing("[apns]\nkey = /", with: "[apns]\nkey = /nowhere/"),
                "gateway line=0", "[apns]"
            ),
        ] {
            try change(service) { _ in wrong }
            let reload = try await service.command("reload")
            #expect(reload.status == 78 && reload.output.contains(words), "\(reload.output)")
            service.program.signal(SIGHUP)
            _ = try await service.program.line(containing: "reload-refused refusal=\(refusal)")
            let put = try service.send(
                "PUT", "/v1/registration", token: device.token, body: device.body)
            #expect(put.status == 204)
        }
        try change(service) { _ in text }
        service.program.signal(SIGHUP)
        _ = try await service.program.line(containing: "reloaded keys=0 gateways=0 restart=0")
        let get = try service.send("GET", "/v1/reload")
        #expect(get.status == 404)
    }

    @Test("a broadcast that goes on ends with the settings it began with")
    func running() async throws {
        let held = try HeldAnswers(allowing: 3)
        let place = try await PushingService(.init(held))
        try place.register((0..<20).map { _ in TestDevice() })
        let broadcast = try place.startBroadcast()
        _ = try await place.round { $0.run == 1 && $0.accepted > 0 }
        try place.service.removeSection("apns")
        let reload = try await place.service.command("reload")
        #expect(reload.status == 0 && reload.output.contains("made again: apns"))
        try held.release()
        let (status, output) = await broadcast.finished()
        #expect(status == 0 && output.contains("20 accepted"), "\(output)")
        #expect(try await place.mock.report().distinct == 20)
        let next = try await place.broadcast()
        #expect(next.status == 1 && next.output.contains("no push was sent"), "\(next.output)")
    }

    @Test("hundreds of SIGHUP are a few reloads")
    func flood() async throws {
        let service = try await ServiceUnderTest()
        let start = ContinuousClock.now
        for _ in 0..<500 { service.program.signal(SIGHUP) }
        _ = try await service.program.line(containing: "reloaded ")
        // The answer to a reload comes after those that were asked for before.
        #expect(try await service.command("reload").status == 0)
        #expect(await service.stop() == 0)
        let seconds = Int((ContinuousClock.now - start) / .seconds(1)) + 1
        let count = service.program.output.split(separator: "\n").count {
            $0.contains(" reloaded ")
        }
        #expect(count <= seconds + 2, "\(count) in \(seconds) s")
    }
}
