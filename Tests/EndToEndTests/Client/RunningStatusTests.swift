import Foundation
import TestSupport
import Testing

@Suite("What a running client answers", .timeLimit(.minutes(5)))
struct RunningStatusTests {
    @Test("status asks it: stream, last and next check, and what to do when the setting changed")
    func asked() async throws {
        let service = try await ServiceUnderTest()
        let client = try await ClientUnderTest(of: service)
        #expect(try await client.status("stream") == "\"unused\"")
        let running = try await client.listen()
        #expect(try await client.status("stream") == "\"connected\"")
        #expect(try await client.status("process") == "\(running.identifier)")
        _ = try await running.line(containing: "cycle began")
        while try await client.status("lastChecked") == "null" {}
        let now = Int(Date().timeIntervalSince1970)
        let next = try #require(Int(try await client.status("nextCheck")))
        #expect(next > now && next < now + 86_400)
        var text = try await client.command("status").output
        for part in ["stream          connected", "last check      ", "next check      in "] {
            #expect(text.contains(part), "\(text)")
        }
        #expect(!text.contains("restart it"))
        // Later than the client's start, by a clock of seconds.
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSinceNow: 60)],
            ofItemAtPath: client.state + "/client.conf")
        text = try await client.command("status").output
        #expect(text.contains("client.conf was changed since this client started"))
        await service.kill()
        _ = try await running.line(containing: "stream ended")
        #expect(try await client.status("stream") == "\"waiting\"")
    }

    @Test("at rest nothing of it wakes: ten seconds pass without")
    func rest() async throws {
        let service = try await ServiceUnderTest()
        let client = try await ClientUnderTest(of: service)
        let running = try await client.listen()
        defer { withExtendedLifetime(service) {} }
        var wakes = Int.max
        // What the start has begun ends within a minute.
        for _ in 0..<12 where wakes > 2 {
            let before = try Self.switches(of: running)
            try await ContinuousClock().sleep(for: .seconds(10))
            wakes = try Self.switches(of: running).reduce(0) { sum, thread in
                sum + thread.value - (before[thread.key] ?? 0)
            }
        }
        #expect(wakes <= 2)
    }

    /// How often each thread has waited (proc_pid_status(5)).
    private static func switches(of program: RunningProgram) throws -> [String: Int] {
        let tasks = "/proc/\(program.identifier)/task"
        let names = try FileManager.default.contentsOfDirectory(atPath: tasks)
        let counts = names.map { name in
            let text =
                (try? String(contentsOfFile: "\(tasks)/\(name)/status", encoding: .utf8)) ?? ""
            let line = text.split(separator: "\n").first { $0.hasPrefix("voluntary_ctxt") }
            return (name, line.flatMap { Int($0.split(separator: "\t")[1]) } ?? 0)
        }
        return Dictionary(uniqueKeysWithValues: counts)
    }

    @Test("the state directory has no file that blocks who reads it, and the socket ends with run")
    func files() async throws {
        let service = try await ServiceUnderTest()
        let client = try await ClientUnderTest(of: service)
        let control = client.state + "/control"
        for signal in [SIGKILL, SIGTERM] {
            let running = try await client.listen()
            let kinds = try FileManager.default.contentsOfDirectory(atPath: client.state).map {
                try FileManager.default.attributesOfItem(atPath: client.state + "/" + $0)[.type]
                    as? FileAttributeType
            }
            // foundation: a FIFO is of no known type, and a reader of one would wait for a writer.
            let harmless: Set<FileAttributeType?> = [.typeRegular, .typeDirectory, .typeSocket]
            #expect(Set(kinds).isSubset(of: harmless) && kinds.contains(.typeSocket))
            #expect(StorePlace.mode(of: control) == 0o600)
            running.signal(signal)
            _ = await running.exit()
            #expect(FileManager.default.fileExists(atPath: control) == (signal == SIGKILL))
            // Nobody answers there: the state is read.
            #expect(try await client.status("running") == "false")
        }
    }

    @Test("a planted match is told by the way of all others, and nothing of it stays")
    func planted() async throws {
        let service = try await ServiceUnderTest()
        let client = try await ClientUnderTest(of: service)
        let reports = try MatchReports(in: client.directory)
        let test = try await client.command("test", "--on-match", reports.program)
        #expect(test.status == 0, "\(test.output)")
        let running = try await client.listen("--on-match", reports.program)
        let asked = try await client.command("test")
        #expect(asked.status == 0, "\(asked.output)")
        let told = try await reports.atLeast(2)
        #expect(told.allSatisfy { $0.secret == "(test)" && $0.note.contains("test") })
        #expect(told[0].id != told[1].id)
        for _ in 0..<2 {
            #expect(try client.files(containing: [Array("(test)".utf8)]) == [])
            #expect(try await client.status("delivered") == "[]")
            #expect(try await client.status("matchesToDeliver") == "0")
            running.signal(SIGKILL)
            _ = await running.exit()
        }
        let refused = try await client.command("test", "--on-match", "/bin/false")
        #expect(refused.status == 1 && refused.output.contains("was not taken"))
        #expect(try await client.status("matchesToDeliver") == "0")
    }
}
