import Glibc
import TestSupport
import Testing
import WakeAudit
import WakeSystem

@Suite("What lies around the database", .timeLimit(.minutes(5)))
struct PlaceTests {
    static let plants = [
        Plant("readable by the group", .fileMode) { unsafe chmod($0.database, 0o640) },
        Plant("of another user", .fileOwner, needsRoot: true) {
            unsafe chown($0.database, 12_345, 0)
        },
        Plant("a link in its place", .fileIsLink) { site in
            site.audited = site.place.path + "/link"
            guard unsafe symlink(site.place.data, site.audited) == 0 else { throw NoSuchPlace() }
        },
        Plant("a directory others write to", .openDirectory) { unsafe chmod($0.place.data, 0o777) },
        Plant("a file nobody declared", .strayFile) { try $0.write([1], to: "visitors.csv") },
        Plant("a copy of the database", .strayFile) { site in
            try site.write(StorePlace.bytes(of: site.database), to: "generation-1.db.bak")
        },
        Plant("an index of the log", .strayFile) { try $0.write([], to: "generation-1.db-shm") },
        Plant("a file of a generation that expired", .generations) { site in
            try site.write(StorePlace.bytes(of: site.database), to: "generation-0.db")
        },
        Plant("a generation too few", .generations) { try Files.remove($0.current) },
        Plant("a hidden file", .strayFile) { try $0.write([], to: ".x") },
        Plant("a state file the world reads", .siblingMode) { site in
            try site.write([1], to: "broadcast")
            unsafe chmod(site.place.data + "/broadcast", 0o644)
        },
        Plant("a state file of another user", .siblingOwner, needsRoot: true) { site in
            try site.write([1], to: "checkpoint")
            unsafe chown(site.place.data + "/checkpoint", 12_345, 0)
        },
        Plant("a directory by the name of a state file", .siblingKind) { site in
            try Files.makeDirectory(site.place.data + "/checkpoint")
        },
        Plant("a log with something in it", .logNotEmpty) { site in
            try site.write([UInt8](repeating: 7, count: 4152), to: "generation-1.db-wal")
        },
        Plant("readable by others", .directoryMode) { unsafe chmod($0.place.data, 0o755) },
        Plant("a directory above that others write to", .openParent) { site in
            unsafe chmod(site.place.path, 0o777)
        },
        Plant("a second name of the database", .hardLink) { site in
            guard unsafe link(site.database, site.place.path + "/copy") == 0 else {
                throw NoSuchPlace()
            }
        },
        Plant("a second name of a state file", .hardLink) { site in
            try site.write([], to: "reserve")
            guard unsafe link(site.place.data + "/reserve", site.place.path + "/copy") == 0
            else { throw NoSuchPlace() }
        },
        Plant("a rollback journal", .journal) { site in
            try site.write([1], to: "generation-1.db-journal")
        },
    ]

    @Test("is found", arguments: plants)
    func planted(_ plant: Plant) async throws {
        // Only root may give files away.
        if plant.needsRoot, geteuid() != 0 { return }
        try await plant.check()
    }

    @Test("an empty log is no violation")
    func declared() async throws {
        let site = try AuditSite(copying: try await StoreHistory.mixed())
        try site.write([], to: "generation-1.db-wal")
        #expect(try site.audit().isClean)
    }

    @Test("an extended attribute is found, where the file system has any")
    func attributes() async throws {
        for name in ["", "/generation-1.db", "/reserve"] {
            let site = try AuditSite(copying: try await StoreHistory.mixed())
            try site.write([], to: "reserve")
            let set = "import os, sys; os.setxattr(sys.argv[1], 'user.note', b'anna')"
            // A tmpfs has had them since Linux 6.6.
            guard try PythonScript.run(set, [site.place.data + name]) == 0 else { return }
            #expect(try site.audit().findings.count(.attribute) == 1)
        }
    }

    @Test("what is missing, or is no file, cannot be looked at")
    func absent() throws {
        let place = StorePlace()
        #expect(throws: AuditFailure.self) {
            try Audit(path: place.path + "/none", policy: AuditSite.policy).run()
        }
        for path in [place.path, "/dev/null"] {
            #expect(throws: AuditFailure.notAStore) {
                try Audit(path: path, policy: AuditSite.policy).run()
            }
        }
    }
}
