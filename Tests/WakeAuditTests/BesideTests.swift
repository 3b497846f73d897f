import Glibc
import TestSupport
import Testing
import WakeSystem

@testable import WakeAudit

/// Audits next to another process that has the store open, in many windows, as of a large store.
/// More with `REVEILLE_LONG=1`.
@Suite("An audit next to a service that writes", .timeLimit(.minutes(60)))
struct BesideTests {
    private static let audits = unsafe getenv("REVEILLE_LONG") == nil ? 5 : 100

    /// - Returns: nil when it could not look.
    private static func audit(_ site: AuditSite, pagesAtOnce: Int = 4) throws -> AuditReport? {
        do throws(AuditFailure) {
            var audit = Audit(
                path: site.place.data, policy: AuditSite.policy, keyFile: site.place.keys)
            audit.pagesAtOnce = pagesAtOnce
            return try audit.run()
        } catch {
            guard error == .changing || error == .unfinished else { throw error }
            return nil
        }
    }

    private static func start(
        _ mode: String, on site: AuditSite, _ numbers: [Int] = []
    ) throws -> StoreWorkerProcess {
        let worker = StoreWorkerProcess(
            mode, data: site.place.data, keys: site.place.keys, numbers)
        try #require(worker.line() == "open")
        worker.discardLines()
        return worker
    }

    @Test("ends with a verdict while rows are written, moved and deleted: no false alarm")
    func writes() async throws {
        let site = try AuditSite(copying: try await StoreHistory.mixed())
        let worker = try Self.start("churn", on: site, [3, 24])
        for number in 0..<Self.audits {
            let report = try #require(try Self.audit(site), "audit \(number)")
            #expect(report.isClean, "audit \(number): \(report.text)")
            #expect(report.verdict(of: .integrity) == .notAsked && report.fileHashText.isEmpty)
        }
        #expect(worker.kill() == 128 + SIGKILL)
    }

    /// One plant for each kind of finding. What SQLite's own check alone would find is none.
    static let plants = Dictionary(
        (PageTests.leftovers + PageTests.structure + HeaderTests.header + HeaderTests.schema
            + RowTests.forms + RowTests.looks).filter { $0.finding != .unreadable }.map {
                ($0.finding.rawValue, $0)
            },
        uniquingKeysWith: { first, _ in first }
    ).values.sorted { $0.finding.rawValue < $1.finding.rawValue }

    @Test(
        "finds what is planted, although the files change between any two windows",
        arguments: plants)
    func planted(_ plant: Plant) async throws {
        let site = try AuditSite(copying: try await StoreHistory.mixed())
        let planted = try AuditSite(copying: try await StoreHistory.mixed())
        try plant.plant(planted)
        let worker = try Self.start("hold", on: site)
        // Behind the service's back, into the files that it holds.
        for (path, source) in [(site.database, planted.database), (site.current, planted.current)] {
            let file = try OpenFile(path, flags: O_RDWR | O_TRUNC)
            try file.write(StorePlace.bytes(of: source).span)
        }
        let isOver = Observed(false)
        let paths = [site.database, site.current]
        let writer = Task.detached {
            let files = try paths.map { try OpenFile($0, flags: O_RDWR) }
            while !isOver.value {
                for file in files {
                    try file.lockExclusively(waiting: true)
                    futimens(file.descriptor, nil)
                    file.unlock()
                }
                poll(nil, 0, 2)
            }
        }
        let report = try #require(try Self.audit(site, pagesAtOnce: 16))
        isOver.update { $0 = true }
        try await writer.value
        #expect(!report.isClean)
        // A page that is in a tree twice, in two windows, holds rows where others should be.
        let found = report.findings.count(plant.finding)
        let outOfOrder = plant.finding == .pageTwice ? report.findings.count(.rowOrder) : 0
        #expect(found + outOfOrder > 0, "found instead: \(report.text)")
        #expect(worker.kill() == 128 + SIGKILL)
    }

    @Test("what a rotation or a kill leaves is no violation, and nothing is called clean")
    func unfinished() async throws {
        let site = try AuditSite(copying: try await StoreHistory.mixed())
        let name = "generation-3.db.tmp"
        let worker = try Self.start("hold", on: site)
        try site.write([1], to: name)
        #expect(throws: AuditFailure.changing) { try site.audit() }
        // Made, and the keys not replaced yet.
        try Files.rename(site.place.data + "/" + name, to: site.place.data + "/generation-3.db")
        #expect(throws: AuditFailure.changing) { try site.audit() }
        let audit = try await RunningProgram.run("reveille", ["audit", site.audited])
        #expect(audit.status == 4 && audit.output.contains("hint: try again"))
        try Files.remove(site.place.data + "/generation-3.db")
        #expect(try site.audit().isClean)
        _ = worker.kill()
        try site.write([1], to: name)
        #expect(throws: AuditFailure.unfinished) { try site.audit() }
        try Files.remove(site.place.data + "/" + name)
        #expect(try site.audit().isClean)
    }

    @Test("a page that no walk has reached is lost only when no table leads to it")
    func movedPages() async throws {
        let site = try AuditSite(copying: try await StoreHistory.mixed())
        let file = PageFile(
            try OpenFile(site.database, flags: O_RDONLY), pageSize: 4096, pagesAtOnce: 3,
            isHeld: false)
        let tables: TreeWalk.Tables = AuditSite.policy.tables.enumerated().compactMap {
            guard let form = RecordLayout(lengths: $1.lengths, pageSize: 4096) else { return nil }
            return (UInt32($0 + 2), form)
        }
        var walk = TreeWalk(file) { _ in }
        #expect(try walk.walkRest(tables) > 0)
        // The first page, and the root of a table without rows.
        #expect(walk.findings.count(.pageUnreachable) == 2)
        walk = TreeWalk(file) { _ in }
        _ = try walk.walkRest([])
        #expect(walk.findings.count(.pageUnreachable) > 10)
    }

    @Test("the page of SQLite's lock bytes belongs to nobody")
    func lockPage() throws {
        let place = StorePlace()
        let file = try OpenFile(place.path + "/sparse", flags: O_RDWR | O_CREAT)
        try #require(ftruncate(file.descriptor, 0x4000_0000 + 2 * 4096) == 0)
        let pages = PageFile(file, pageSize: 4096, pagesAtOnce: 1, isHeld: false)
        try pages.window {}
        var map = PageMap()
        #expect(map.fault(pages.lockPage, in: pages) == .lockPage)
        #expect(map.fault(0, in: pages) == .pageOutside)
        #expect(map.fault(pages.lockPage + 2, in: pages) == .pageOutside)
        #expect(map.fault(pages.lockPage + 1, in: pages) == nil)
        map.mark(pages.lockPage + 1, pages.state)
        #expect(map.fault(pages.lockPage + 1, in: pages) == .pageTwice)
    }
}
