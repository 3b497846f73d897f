import Foundation
import Glibc
import TestSupport
import Testing
import WakeAudit
import WakeModel
import WakeSystem

@Suite("reveille audit", .timeLimit(.minutes(5)))
struct ProgramTests {
    @Test("ends with 0 for a clean file, 3 for violations, 4 when it cannot look, 2 for its usage")
    func statuses() async throws {
        let site = try AuditSite(copying: try await StoreHistory.mixed())
        let clean = try await RunningProgram.run(
            "reveille", ["audit", site.audited, "--keys", site.place.keys])
        #expect(clean.status == 0, "\(clean.output)")
        #expect(clean.output.hasSuffix("clean\n"))
        try site.write([1], to: "visitors.csv")
        let found = try await RunningProgram.run("reveille", ["audit", site.audited])
        #expect(found.status == 3)
        #expect(found.output.contains("VIOLATION   place       stray-file 1"))
        #expect(!found.output.contains("visitors"))
        let missing = try await RunningProgram.run("reveille", ["audit", site.place.path + "/no"])
        #expect(missing.status == 4)
        let noPolicy = try await RunningProgram.run(
            "reveille", ["audit", site.audited, "--policy", "/dev/null"])
        #expect(noPolicy.status == 4)
        #expect(try await RunningProgram.run("reveille", ["audit"]).status == 2)
    }

    @Test("says the same to programs: one object, with hashes others can compute")
    func json() async throws {
        let site = try AuditSite(copying: try await StoreHistory.mixed())
        try site.write([1], to: "visitors.csv")
        let run = try await RunningProgram.run(
            "reveille", ["audit", site.audited, "--json", "--logs", "-"],
            input: Array("reveille info stopping\nGET / 200\n".utf8))
        #expect(run.status == 3)
        let object = try #require(
            try JSONSerialization.jsonObject(with: Data(run.output.utf8)) as? [String: Any])
        #expect(object["schema"] as? String == "reveille-audit-1")
        #expect(object["verdict"] as? String == "violation")
        #expect(object["policy"] as? String == AuditSite.policy.hash)
        #expect((object["program"] as? String)?.hasPrefix("reveille ") == true)
        let sum = try await RunningProgram.run(
            path: "/bin/sh", ["-c", "cat \"$@\" | sha256sum", "sh", site.database, site.current])
        #expect(object["sha256"] as? String == String(sum.output.prefix(64)))
        let checks = try #require(object["checks"] as? [[String: Any]])
        #expect(checks.map { $0["number"] as? Int } == Array(1...9))
        #expect(
            checks.map { $0["verdict"] as? String } == [
                "violation", "ok", "ok", "ok", "ok", "ok", "ok", "not-asked", "violation",
            ])
        #expect(checks[0]["findings"] as? [String: Int] == ["stray-file": 1])
        #expect(checks[8]["findings"] as? [String: Int] == ["foreign-line": 1])
    }

    @Test("beside a running service: clean, and the service goes on")
    func beside() async throws {
        let service = try await ServiceUnderTest()
        let devices = (0..<30).map { _ in TestDevice() }
        for device in devices {
            let put = try service.send(
                "PUT", "/v1/registration", token: device.token, body: device.body)
            #expect(put.status == 204)
        }
        // A delete empties the log.
        _ = try service.send("DELETE", "/v1/registration", token: devices[0].token)
        let data = service.data
        let audit = try await RunningProgram.run("reveille", ["audit", data])
        #expect(audit.status == 0, "\(audit.output)")
        #expect(audit.output.contains("0 in generation-0, 29 in generation-1"))
        #expect(!FileManager.default.fileExists(atPath: data + "/generation-1.db-shm"))
        let put = try service.send(
            "PUT", "/v1/registration", token: devices[0].token, body: devices[0].body)
        #expect(put.status == 204)
        #expect(await service.stop() == 0)
        let said = service.program.output
        let log = try await RunningProgram.run(
            "reveille", ["audit", data, "--logs", "-"], input: Array(said.utf8))
        #expect(log.status == 0, "\(log.output)\(said)")
    }

    @Test("a log that was in use when its service was killed cannot be looked behind")
    func killed() async throws {
        let place = StorePlace()
        try StoreHistory.create(place)
        let log = place.data + "/generation-1.db-wal"
        let worker = StoreWorkerProcess("churn", data: place.data, keys: place.keys, [7, 40])
        while let line = worker.line(), line != "failed" {
            // Rows of several at once, and the log in use.
            if line.hasPrefix("ok"), StorePlace.bytes(of: log).count > Limits.pageBytes { break }
        }
        _ = worker.kill()
        let audit = try await RunningProgram.run(
            "reveille", ["audit", place.data])
        if StorePlace.bytes(of: log).isEmpty {
            #expect(audit.status == 0, "\(audit.output)")
        } else {
            #expect(audit.status == 4, "\(audit.output)")
            #expect(audit.output.contains("hint: start the service"))
        }
    }
}
