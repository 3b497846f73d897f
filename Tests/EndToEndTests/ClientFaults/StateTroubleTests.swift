import Foundation
import TestSupport
import Testing
import WakeSystem

@Suite("Every trouble with the state ends as it should", .timeLimit(.minutes(5)))
struct StateTroubleTests {
    /// A client that has checked one of two batches; the second holds its secret.
    private func place() async throws -> (FeedSite, ClientUnderTest) {
        let site = try await FeedSite()
        let client = try await ClientUnderTest(feed: site.url, key: site.key)
        try await site.publish()
        #expect(try await client.command("sync").status == 0)
        try await site.publish(try await client.addSecret("visit"))
        return (site, client)
    }

    private func expectRefused(
        _ client: ClientUnderTest, _ status: Int32, _ code: String, _ words: String
    ) async throws {
        let json = try await client.command("sync", "--json")
        #expect(json.status == status, "\(json.output)")
        #expect(json.output.contains("\"outcome\":\"failed\",\"failure\":\"\(code)\""))
        #expect(json.output.contains("\"matches\":[],\"undelivered\":0}"))
        for word in ["sync", "run", "status"] {
            let said = try await client.command(word)
            #expect(said.status == status, "\(word): \(said.output)")
            #expect(said.output.contains(words), "\(word): \(said.output)")
        }
    }

    @Test("a directory or database that others can reach is refused until it is closed to them")
    func exposed() async throws {
        let (site, client) = try await place()
        let before = site.requests.count
        for (path, open, closed) in [("", 0o750, 0o700), ("/client.db", 0o604, 0o600)] {
            try FileManager.default.setAttributes(
                [.posixPermissions: open], ofItemAtPath: client.state + path)
            try await expectRefused(client, 78, "state", "is open to others")
            try FileManager.default.setAttributes(
                [.posixPermissions: closed], ofItemAtPath: client.state + path)
        }
        #expect(site.requests.count == before)
        #expect(try await client.command("sync").status == 10)
    }

    @Test(
        "a symbolic link in the place of the database is not followed, one that leads nowhere said")
    func links() async throws {
        let (site, client) = try await place()
        defer { withExtendedLifetime(site) {} }
        let manager = FileManager.default
        let (database, moved) = (client.state + "/client.db", client.directory.path + "/moved")
        try manager.moveItem(atPath: database, toPath: moved)
        try manager.createSymbolicLink(atPath: database, withDestinationPath: moved)
        try await expectRefused(client, 78, "state", "no symbolic links")
        try manager.removeItem(atPath: database)
        try manager.moveItem(atPath: moved, toPath: database)
        // Somebody's disk is not there, or leads to itself.
        for (target, reason) in [("nowhere", "leads nowhere"), ("state/..", "Too many levels")] {
            try manager.moveItem(atPath: client.state, toPath: moved)
            try manager.createSymbolicLink(atPath: client.state, withDestinationPath: target)
            let secrets = try await client.command("secrets", "list")
            #expect(secrets.status == 78, "\(target): \(secrets.output)")
            let doctor = try await client.command("doctor")
            #expect(doctor.status == 78, "\(doctor.output)")
            #expect(doctor.output.contains(reason), "\(doctor.output)")
            try manager.removeItem(atPath: client.state)
            try manager.moveItem(atPath: moved, toPath: client.state)
        }
        #expect(try await client.command("sync").status == 10)
    }

    @Test("a limit of the size of files is a failed write, and streams that are closed stay so")
    func limits() async throws {
        let (site, client) = try await place()
        defer { withExtendedLifetime(site) {} }
        let program = RunningProgram.folder.appending(path: "reveille-client").path
        func shell(_ line: String) async throws -> (status: Int32, output: String) {
            try await RunningProgram.run(
                path: "/bin/sh", ["-c", line, "sh", program, client.state])
        }
        let limited = try await shell("ulimit -f 8; exec \"$1\" sync --state \"$2\"")
        #expect(limited.status == 74, "\(limited.output)")
        let lock = try Data(contentsOf: URL(filePath: client.state + "/lock"))
        let unread = try await shell("exec \"$1\" sync --json --state \"$2\" <&- >&-")
        #expect(unread.status == 74, "\(unread.output)")
        #expect(unread.output.contains("standard output cannot be written"))
        #expect(try Data(contentsOf: URL(filePath: client.state + "/lock")) == lock)
        let secret = try await shell("exec \"$1\" secrets add more --state \"$2\" <&-")
        #expect(secret.status == 1 && secret.output.contains("standard input"), "\(secret.output)")
        #expect(try await client.command("sync").status == 10)
    }

    @Test("a database of another version is refused and keeps every byte")
    func newer() async throws {
        let (site, client) = try await place()
        defer { withExtendedLifetime(site) {} }
        let path = client.state + "/client.db"
        try Database(path: path, access: .readWrite).execute("PRAGMA user_version=99")
        let before = FileManager.default.contents(atPath: path)
        try await expectRefused(
            client, 74, "state", "the state was written by another version of this program")
        #expect(FileManager.default.contents(atPath: path) == before)
    }

    @Test(
        "a damaged or empty database is put aside and said, and everything is checked again",
        arguments: [0, 1, 4096])
    func damaged(_ count: Int) async throws {
        let (site, client) = try await place()
        defer { withExtendedLifetime(site) {} }
        try Data(repeating: 0x5A, count: count).write(
            to: URL(filePath: client.state + "/client.db"))
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o600], ofItemAtPath: client.state + "/client.db")
        for name in ["-wal", "-shm"] {
            try? FileManager.default.removeItem(atPath: client.state + "/client.db" + name)
        }
        let looked = try await client.command("status")
        #expect(looked.status == 74 && looked.output.contains("the state is damaged"))
        let answer = try await client.command("sync")
        #expect(answer.status == 10, "\(answer.output)")
        #expect(
            answer.output.contains("warning: the state was damaged and begun again"),
            "\(answer.output)")
        #expect(try await client.status("sequence") == "2")
        #expect(try client.files().keys.contains { $0.contains("client.db.damaged-") })
        // Said once.
        #expect(try await client.command("sync").output == "")
    }

    @Test("a second process is told so, also as JSON, and may look all the same")
    func locked() async throws {
        let service = try await ServiceUnderTest()
        let client = try await ClientUnderTest(of: service)
        let running = try await client.listen()
        let second = try await client.command("sync", "--json")
        #expect(second.status == 75)
        #expect(second.output.hasPrefix("{\"outcome\":\"failed\",\"failure\":\"locked\""))
        let words = try await client.command("sync")
        #expect(words.status == 75 && words.output.contains("another process works with this"))
        #expect(try await client.command("run").status == 75)
        #expect(try await client.command("status").status == 0)
        running.signal(SIGTERM)
        #expect(await running.exit() == 0)
        #expect(try await client.command("sync").status == 0)
    }

    @Test("a missing library and a missing profile are JSON as well, for whoever reads JSON")
    func json() async throws {
        let (site, client) = try await place()
        defer { withExtendedLifetime(site) {} }
        for name in ["libcurl.so.4", "libcurl-gnutls.so.4"] {
            try "no library".write(
                toFile: client.directory.path + "/" + name, atomically: true, encoding: .utf8)
        }
        let program = try client.start(
            "sync", "--json", environment: ["LD_LIBRARY_PATH": client.directory.path])
        #expect(await program.exit() == 78)
        #expect(program.output.contains("\"failure\":\"configuration\""), "\(program.output)")
        let nowhere = try await RunningProgram.run(
            "reveille-client", ["sync", "--json", "--state", client.directory.path + "/none"])
        #expect(nowhere.status == 78)
        #expect(nowhere.output.contains("{\"outcome\":\"failed\",\"failure\":\"configuration\""))
        #expect(nowhere.output.contains("there is no such profile yet"))
    }

    @Test("unregister says whether there was anything to forget; a refusal is said once")
    func words() async throws {
        let service = try await ServiceUnderTest(serving: .nothing)
        let client = try await ClientUnderTest(of: service)
        #expect(try await client.command("unregister").output == "nothing was registered\n")
        #expect(try await client.register(TestDevice()) == 78)
        let look = try await client.command("sync")
        #expect(look.status == 0 && look.output == "", "\(look.output)")
        let gone = try await client.command("unregister")
        #expect(gone.status == 0)
        #expect(
            gone.output
                == "unregistered: the service holds nothing about this device any more\n")
        #expect(try await client.command("unregister").output == "nothing was registered\n")
    }
}
