import Foundation
import TestSupport
import Testing
import WakeAudit
import WakeStore
import WakeSystem

@Suite("What was deleted, replaced or dropped is in no file", .timeLimit(.minutes(30)))
struct ForensicTests {
    /// A store that went through all of it.
    private struct Run {
        let place = StorePlace()
        let record: ForensicRecord
        /// The files while the store was open, and afterwards.
        let open: [[UInt8]]
        let closed: [[UInt8]]

        init(operations: Int, slipping setting: String? = nil) throws {
            let configuration = StoreConfiguration(dataDirectory: place.data, keyFile: place.keys)
            try Store.create(configuration)
            let path = place.path + "/record"
            let worker = StoreWorkerProcess(
                "forensic", data: place.data, keys: place.keys,
                [operations, 6, Int.random(in: 1...100_000)], trace: path, slipping: setting)
            try #require(worker.line() == "open")
            let done = try #require(worker.line())
            let words = done.split(separator: " ")
            try #require(words.first == "done" && Int(words[1]) ?? 0 >= operations, "\(done)")
            open = Self.files(place)
            #expect(worker.finish() == 0)
            #expect(worker.lines() == ["closed"])
            closed = Self.files(place)
            record = try ForensicRecord(StorePlace.bytes(of: path))
            #expect(record.registers + record.deletes + 6 == Int(words[1]))
            #expect(record.rotations == 6)
        }

        private static func files(_ place: StorePlace) -> [[UInt8]] {
            [place.data, place.path + "/keys"].flatMap { directory in
                StorePlace.names(in: directory).map {
                    StorePlace.bytes(of: directory + "/" + $0)
                }
            }
        }

        func audit() throws -> AuditReport {
            let root = Repository.root
            let policy = try Data(contentsOf: root.appending(path: "Policy/privacy.json"))
            return try Audit(
                path: place.data, policy: AuditPolicy(Array(policy)),
                keyFile: place.keys
            ).run()
        }
    }

    @Test("after 100,000 operations of many at once, with six rotations: 0 hits in all files")
    func nothing() throws {
        let run = try Run(operations: 100_000)
        for files in [run.open, run.closed] {
            let (gone, live) = run.record.search(files)
            // The search sees: every row that is there is found.
            #expect(live.found == live.sought && live.sought > 1000, "live: \(live)")
            for kind in ForensicRecord.Kind.allCases {
                let found = try #require(gone[kind])
                #expect(found.found == 0, "\(kind): \(found)")
                #expect(found.sought > (kind == .master ? 4 : 1000))
            }
        }
        let report = try run.audit()
        #expect(report.isClean, "\(report.text)")
    }

    @Test("the search is not blind: the same with secure_delete=OFF leaves rows, the audit too")
    func control() throws {
        let run = try Run(operations: 10_000, slipping: "secure_delete=OFF")
        let (gone, live) = run.record.search(run.closed)
        #expect(live.found == live.sought)
        #expect(gone[.sealed]?.found ?? 0 > 20, "\(gone)")
        #expect(gone[.id]?.found ?? 0 > 0, "\(gone)")
        #expect(try !run.audit().isClean)
    }
}
