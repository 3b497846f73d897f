import Foundation
import Glibc
import TestSupport
import Testing
import WakeModel
import WakeSystem

@Suite("reveille-client doctor", .timeLimit(.minutes(5)))
struct DoctorTests {
    /// What it found: level and hint by subject.
    private struct Answer {
        let status: Int32
        let output: String
        let worst: String
        let levels: [String: String]
        let hints: [String: String]
        let texts: [String: String]

        init(_ answer: (status: Int32, output: String)) throws {
            status = answer.status
            output = answer.output
            let object = try JSONSerialization.jsonObject(with: Data(answer.output.utf8))
            let members = try #require(object as? [String: Any])
            #expect(Set(members.keys) == ["worst", "checks"])
            worst = try #require(members["worst"] as? String)
            let checks = try #require(members["checks"] as? [[String: Any]])
            for check in checks { #expect(Set(check.keys) == ["check", "level", "text", "hint"]) }
            func column(_ name: String) -> [String: String] {
                Dictionary(
                    checks.map { ($0["check"] as? String ?? "", $0[name] as? String ?? "") },
                    uniquingKeysWith: { first, _ in first })
            }
            (levels, hints, texts) = (column("level"), column("hint"), column("text"))
        }
    }

    private func ask(_ client: ClientUnderTest) async throws -> Answer {
        try Answer(try await client.command("doctor", "--json"))
    }

    @Test("a profile that works is fine, and nothing of it is shown or changed")
    func healthy() async throws {
        let service = try await ServiceUnderTest()
        let client = try await ClientUnderTest(of: service)
        let secret = try await client.addSecret("visit-of-mine")
        _ = try await service.publish([secret], notes: [])
        let device = TestDevice()
        #expect(try await client.register(device) == 0)
        #expect(try await client.command("sync").status == 10)
        let before = try client.files()
        let answer = try await ask(client)
        #expect(answer.status == 0)
        #expect(answer.worst == "warning", "\(answer.output)")
        var expected = [
            "configuration", "state-directory", "cache-directory", "secrets", "disk", "state",
            "client", "registration", "cache", "libcurl", "feed", "clock", "service", "stream",
        ]
        for subject in expected { #expect(answer.levels[subject] == "ok", "\(subject)") }
        // One origin serves both here; a unit may be there or not.
        #expect(answer.levels["origins"] == "warning")
        expected += ["origins", "unit", "on-match", "bus", "notifications"]
        #expect(Set(answer.levels.keys).isSubset(of: expected))
        #expect(answer.texts["cache"]?.hasPrefix("1 batch, ") == true)
        #expect(answer.texts["client"] == "not running")
        let text = try await client.command("doctor")
        #expect(text.status == 0)
        for said in [answer.output, text.output] {
            for word in [
                "127.0.0.1", "\(service.port)", service.feedKey, device.pushText, secret,
                "visit-of-mine", client.directory.path, "://",
            ] { #expect(!said.contains(word), "\(word)") }
        }
        let after = try client.files()
        #expect(Set(after.keys) == Set(before.keys))
        for (name, bytes) in before where !name.hasSuffix("-shm") {
            #expect(after[name] == bytes, "\(name)")
        }
        #expect(await service.stop() == 0)
    }

    @Test("beside a running client: its process is named, and it is not disturbed")
    func running() async throws {
        let service = try await ServiceUnderTest()
        let client = try await ClientUnderTest(of: service)
        let program = try await client.listen()
        let answers = try await withThrowingTaskGroup(of: (status: Int32, output: String).self) {
            group in
            for _ in 0..<4 { group.addTask { try await client.command("doctor", "--json") } }
            var answers: [Answer] = []
            for try await answer in group { answers.append(try Answer(answer)) }
            return answers
        }
        for answer in answers {
            #expect(answer.status == 0, "\(answer.output)")
            #expect(answer.texts["client"] == "running, process \(program.identifier)")
        }
        #expect(program.end == nil)
        #expect(!program.output.contains("stream ended"))
        #expect(try await client.status("running") == "true")
        program.signal(SIGTERM)
        #expect(await program.exit() == 0)
        #expect(try await client.status("running") == "false")
    }

    @Test("its requests are those of every client, byte for byte")
    func requests() async throws {
        let requests = Observed<[String]>([])
        let site = try await FeedSite()
        try await site.publish()
        let head = site.head
        let connections = Observed(0)
        let server = try WireServer { peer in
            connections.update { $0 += 1 }
            defer { connections.update { $0 -= 1 } }
            while let request = WireRequest(from: peer) {
                requests.update { $0.append(request.head) }
                if request.path == "/v1/wakes" {
                    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
                    try? peer.send(Array(head.utf8) + WakeEvent(sequence: 1).encode())
                    // Until the client goes.
                    _ = try? peer.receive(exactly: 1)
                    return
                }
                let answer = "HTTP/1.1 200 OK\r\nContent-Length: \(head.count)\r\n\r\n"
                try? peer.send(Array(answer.utf8) + head)
            }
        }
        defer { server.refuse() }
        let client = try await ClientUnderTest(
            feed: server.url + "/feed/", key: site.key, "--service", server.url)
        let program = try await client.listen()
        let run = try await requests.first { all in
            let found = Set(all.filter { !$0.contains("/b/") })
            return found.count == 3 ? found : nil
        }
        program.signal(SIGTERM)
        #expect(await program.exit() == 0)
        // What it asked for last may still be unread.
        try await connections.first { $0 == 0 ? () : nil }
        requests.update { $0 = [] }
        let answer = try await ask(client)
        #expect(answer.levels["stream"] == "ok", "\(answer.output)")
        // The keys only where the client's state has no head yet.
        #expect((2...3).contains(requests.value.count))
        #expect(Set(requests.value).isSubset(of: run))
    }

    @Test("what somebody must mend ends with 78, and the hint says how")
    func configuration() async throws {
        let site = try await FeedSite()
        let client = try await ClientUnderTest(feed: site.url, key: site.key)
        let manager = FileManager.default
        func mode(_ bits: Int, _ path: String) throws {
            try manager.setAttributes([.posixPermissions: bits], ofItemAtPath: path)
        }
        try mode(0o755, client.state)
        var answer = try await ask(client)
        #expect(answer.status == 78 && answer.worst == "failed")
        #expect(answer.levels["state-directory"] == "failed")
        #expect(answer.hints["state-directory"] == "chmod 700 it")
        try mode(0o700, client.state)
        try mode(0o644, client.state + "/client.conf")
        answer = try await ask(client)
        #expect(answer.status == 78 && answer.levels["configuration"] == "failed")
        #expect(answer.hints["configuration"] == "chmod 600 client.conf")
        try mode(0o600, client.state + "/client.conf")
        _ = try await client.addSecret("visit")
        try mode(0o644, client.state + "/secrets/visit")
        answer = try await ask(client)
        #expect(answer.status == 78 && answer.levels["secrets"] == "failed")
        #expect(answer.hints["secrets"]?.contains("chmod 600") == true)
        try mode(0o600, client.state + "/secrets/visit")
        try manager.copyItem(
            atPath: client.state + "/secrets/visit", toPath: client.state + "/secrets/my visit")
        answer = try await ask(client)
        #expect(answer.texts["secrets"] == "1 file is ignored: its name is no secret's")
        do {
            let database = try Database(path: client.state + "/client.db", access: .readWrite)
            try database.execute("PRAGMA user_version=99")
        }
        answer = try await ask(client)
        #expect(answer.status == 78 && answer.levels["state"] == "failed", "\(answer.output)")
        #expect(answer.texts["state"]?.contains("another version") == true)
        let none = try await RunningProgram.run(
            "reveille-client", ["doctor", "--json", "--state", client.directory.path + "/none"])
        #expect(none.status == 78)
        #expect(try Answer(none).levels == ["configuration": "failed", "libcurl": "ok"])
        #expect(!manager.fileExists(atPath: client.directory.path + "/none"))
    }

    @Test("where units are not started yet, the program that they run for a match is looked for")
    func onMatch() async throws {
        let site = try await FeedSite()
        try await site.publish()
        let client = try await ClientUnderTest(feed: site.url, key: site.key)
        let home = client.directory.path
        let folder = home + "/.config/reveille"
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true)
        func script(_ path: String, _ text: String, _ mode: Int) throws {
            try "#!/bin/sh\n\(text)\n".write(toFile: path, atomically: true, encoding: .utf8)
            try FileManager.default.setAttributes(
                [.posixPermissions: mode], ofItemAtPath: path)
        }
        func asked() async throws -> Answer {
            let program = try client.start(
                "doctor", "--json", environment: ["HOME": home, "PATH": home + ":/usr/bin:/bin"])
            return try Answer((await program.exit(), program.output))
        }
        try script(home + "/systemctl", "exit 1", 0o700)
        #expect(try await asked().texts["on-match"]?.contains("No such file") == true)
        try script(folder + "/on-match", "exit 0", 0o600)
        let closed = try await asked()
        #expect(closed.texts["on-match"]?.contains("Permission denied") == true)
        #expect(closed.levels["on-match"] == "warning" && closed.status == 0)
        #expect(closed.hints["on-match"]?.contains("chmod +x") == true)
        // As the README makes it.
        let lines = try Repository.text("README.md").split(separator: "\n")
            .filter { $0.contains(" ~/.config/reveille") && !$0.hasPrefix("systemctl") }
        let typed = try await RunningProgram.run(
            path: "/usr/bin/env",
            ["HOME=\(home)", "bash", "-e", "-c", lines.joined(separator: "\n")])
        #expect(lines.count == 3 && typed.status == 0, "\(typed.output)")
        #expect(try await asked().levels["on-match"] == nil)
        // A unit that is active has found what it needs.
        try FileManager.default.removeItem(atPath: folder + "/on-match")
        try script(home + "/systemctl", "exit 0", 0o700)
        let active = try await asked()
        #expect(active.levels["unit"] == "ok" && active.levels["on-match"] == nil)
    }

    @Test("without libcurl it names the package")
    func library() async throws {
        let site = try await FeedSite()
        let client = try await ClientUnderTest(feed: site.url, key: site.key)
        for name in ["libcurl.so.4", "libcurl-gnutls.so.4"] {
            try "no library".write(
                toFile: client.directory.path + "/" + name, atomically: true, encoding: .utf8)
        }
        let program = try client.start(
            "doctor", "--json", environment: ["LD_LIBRARY_PATH": client.directory.path])
        let answer = try Answer((await program.exit(), program.output))
        #expect(answer.status == 78 && answer.levels["libcurl"] == "failed")
        #expect(answer.hints["libcurl"] == "apt-get install libcurl4")
        #expect(answer.levels["feed"] == nil)
    }

    @Test("what may pass by itself ends with 75")
    func transient() async throws {
        let site = try await FeedSite()
        try await site.publish()
        let nobody = try WireServer.reservedPort()
        let client = try await ClientUnderTest(
            feed: site.url, key: site.key, "--service", nobody.url)
        var answer = try await ask(client)
        #expect(answer.status == 75, "\(answer.output)")
        #expect(answer.levels["feed"] == "ok" && answer.levels["service"] == "failed")
        #expect(answer.levels["origins"] == nil)
        // A captive portal.
        site.answer { _ in .bytes(Array("<html>log in</html>".utf8)) }
        answer = try await ask(client)
        #expect(answer.status == 75 && answer.levels["feed"] == "failed")
        // A service that has no stream, and one that has a page of somebody else's.
        let page = try WireServer { peer in
            while WireRequest(from: peer) != nil {
                try? peer.send(Array("HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n".utf8))
            }
        }
        defer { page.refuse() }
        site.answer { _ in .file }
        let second = try await ClientUnderTest(
            feed: site.url, key: site.key, "--service", page.url)
        answer = try await ask(second)
        #expect(answer.status == 0 && answer.levels["stream"] == "warning", "\(answer.output)")
        #expect(answer.texts["stream"]?.contains("404") == true)
    }

    @Test("a stream that is accepted and kept back on the way is told as that, and costs no 75")
    func buffered() async throws {
        let site = try await FeedSite()
        try await site.publish()
        let silent = try WireServer { peer in
            while WireRequest(from: peer) != nil {
                try? peer.send(
                    Array("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n".utf8))
            }
        }
        defer { silent.refuse() }
        let client = try await ClientUnderTest(
            feed: site.url, key: site.key, "--service", silent.url)
        let answer = try await ask(client)
        #expect(answer.status == 0 && answer.levels["stream"] == "warning", "\(answer.output)")
        #expect(answer.texts["stream"]?.contains("keeps it back") == true, "\(answer.output)")
    }

    @Test(
        "a key of another feed, which the file of keys proves, and files that are not this user's")
    func foreign() async throws {
        let (site, other) = (try await FeedSite(), try await FeedSite())
        try await site.publish()
        let client = try await ClientUnderTest(feed: site.url, key: other.key)
        let answer = try await ask(client)
        #expect(answer.status == 78, "\(answer.output)")
        #expect(answer.texts["feed"] == "what came belongs to another feed")
        #expect(try await client.command("sync").output.contains("belongs to another feed"))
        guard geteuid() == 0 else { return }
        #expect(unsafe chown(client.state + "/lock", 1000, 1000) == 0)
        for command in ["doctor", "sync", "status"] {
            let answer = try await client.command(command)
            #expect(answer.status == 78 && answer.output.contains("belongs to another user"))
        }
    }

    @Test("a client that hangs is named by doctor and status")
    func hanging() async throws {
        let service = try await ServiceUnderTest()
        let client = try await ClientUnderTest(of: service)
        let running = try await client.listen()
        running.signal(SIGSTOP)
        let answer = try await ask(client)
        #expect(answer.status == 78 && answer.levels["client"] == "failed", "\(answer.output)")
        #expect(answer.texts["client"]?.contains("does not answer") == true)
        #expect(try await client.command("status").output.contains("DOES NOT ANSWER"))
        running.signal(SIGCONT)
        #expect(try await ask(client).levels["client"] == "ok")
        running.signal(SIGTERM)
        #expect(await running.exit() == 0)
    }

    @Test(
        "a clock that differs from the server's is a warning that says by how much and whose",
        arguments: [nil, 7200])
    func clock(_ offset: Double?) async throws {
        let site = try await FeedSite()
        try await site.publish()
        let head = site.head
        let time = DateFormatter()
        time.locale = Locale(identifier: "en_US_POSIX")
        time.timeZone = TimeZone(identifier: "GMT")
        time.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        let date = offset.map { time.string(from: .now + $0) } ?? "Thu, 01 Jan 2015 00:00:00 GMT"
        let server = try WireServer { peer in
            while WireRequest(from: peer) != nil {
                let answer =
                    "HTTP/1.1 200 OK\r\nDate: \(date)\r\n"
                    + "Content-Length: \(head.count)\r\n\r\n"
                try? peer.send(Array(answer.utf8) + head)
            }
        }
        defer { server.refuse() }
        let client = try await ClientUnderTest(feed: server.url + "/", key: site.key)
        let answer = try await ask(client)
        #expect(answer.status == 0 && answer.levels["clock"] == "warning", "\(answer.output)")
        let (text, hint) = (answer.texts["clock"] ?? "", answer.hints["clock"] ?? "")
        #expect(text.contains(offset == nil ? "server's clock is" : "behind the feed's server"))
        #expect(hint.contains(offset == nil ? "feed's operator" : "timedatectl"))
    }
}
