import WakeSQLite

/// SQLite's own opinion, asked for without locks, log or a file beside: `immutable=1` makes it read
/// the very bytes that the other checks read, also beside a running service.
enum IntegrityCheck {
    static func run(_ path: String, _ findings: inout AuditFindings) {
        do throws(SQLiteError) {
            let database = try Database(path: path, access: .asItLies)
            // The schema may be anybody's: nothing in it may run (sqlite.org/security.html §1.3).
            try database.execute("PRAGMA trusted_schema=OFF")
            try database.execute("PRAGMA cell_size_check=ON")
            let statement = try database.prepare("PRAGMA integrity_check")
            while try statement.step() {
                // The lines may quote what is in the file: they are counted.
                findings.note(.integrity, if: statement.text(0) != "ok")
            }
        } catch {
            findings.note(.unreadable)
        }
    }
}
