import Foundation
import TestSupport
import WakeModel
import WakeSystem

@testable import WakeAudit

/// A copy of a store's files, to plant something in and to audit.
final class AuditSite {
    let place = StorePlace()
    /// What is given to the audit; a link in one test.
    var audited: String
    /// The key file, or a directory with all of them.
    var auditedKeys: String

    /// The previous generation's file, of which much was deleted and much has moved.
    var database: String { place.data + "/generation-1.db" }
    var current: String { place.data + "/generation-2.db" }

    static let policy: AuditPolicy = {
        let root = URL(filePath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        do {
            let file = try Data(contentsOf: root.appending(path: "Policy/privacy.json"))
            return try AuditPolicy(Array(file))
        } catch {
            preconditionFailure("the policy cannot be read: \(error)")
        }
    }()

    /// - Parameter store: nobody has it open.
    init(copying store: StorePlace) throws {
        audited = place.data
        auditedKeys = place.keys
        try Files.makeDirectory(place.data)
        try Files.makeDirectory(place.path + "/keys")
        for name in StorePlace.names(in: store.data) {
            try write(StorePlace.bytes(of: store.data + "/" + name), to: name)
        }
        try Files.create(place.keys, with: StorePlace.bytes(of: store.keys).span)
    }

    /// Writes a file of the data directory, mode 0600.
    func write(_ bytes: [UInt8], to name: String) throws {
        try Files.replace(place.data + "/" + name, with: bytes.span)
    }

    /// Changes the database byte by byte.
    func change(_ body: (inout [UInt8]) throws -> Void) throws {
        var bytes = StorePlace.bytes(of: database)
        try body(&bytes)
        try write(bytes, to: "generation-1.db")
    }

    /// Changes the database through SQLite, which is told to look away.
    func execute(_ statements: String..., in file: String? = nil) throws {
        let database = try Database(path: file ?? database, access: .readWrite)
        for setting in ["secure_delete=ON", "ignore_check_constraints=ON"] {
            try database.execute("PRAGMA " + setting)
        }
        for statement in statements { try database.execute(statement) }
    }

    /// Inserts rows as they are, of whatever length.
    func insert(_ rows: [(id: [UInt8], sealed: [UInt8])], into file: String? = nil) throws {
        let database = try Database(path: file ?? database, access: .readWrite)
        try database.execute("PRAGMA ignore_check_constraints=ON")
        try database.execute("BEGIN")
        let insert = try database.prepare("INSERT INTO registration VALUES(?1,?2)")
        for row in rows {
            try insert.bind(1, blob: row.id.span)
            try insert.bind(2, blob: row.sealed.span)
            try insert.run()
        }
        try database.execute("COMMIT")
    }

    /// Deletes a row without overwriting it, as the store never does.
    func deleteCarelessly(_ id: [UInt8]) throws {
        let database = try Database(path: database, access: .readWrite)
        try database.execute("PRAGMA secure_delete=OFF")
        let delete = try database.prepare("DELETE FROM registration WHERE id=?1")
        try delete.bind(1, blob: id.span)
        try delete.run()
        try database.checkpointTruncate()
    }

    func audit(
        keys: Bool = false, log: String? = nil, pagesAtOnce: Int = 2048
    ) throws -> AuditReport {
        var audit = Audit(
            path: audited, policy: Self.policy, keyFile: keys ? auditedKeys : nil,
            log: log.map { Array($0.utf8) })
        audit.pagesAtOnce = pagesAtOnce
        return try audit.run()
    }

    /// SQLite's pages, counted from 1.
    static func page(_ number: Int, of bytes: [UInt8]) -> Range<Int> {
        (number - 1) * Limits.pageBytes..<number * Limits.pageBytes
    }

    /// The first page from the second on for which the condition holds.
    static func pages(
        of bytes: [UInt8], where fits: (BTreePage) -> Bool
    ) -> [(start: Int, page: BTreePage)] {
        stride(from: Limits.pageBytes, to: bytes.count, by: Limits.pageBytes).compactMap { start in
            let page = BTreePage(bytes.span.extracting(start..<start + Limits.pageBytes), from: 0)
            guard let page, fits(page) else { return nil }
            return (start, page)
        }
    }
}
