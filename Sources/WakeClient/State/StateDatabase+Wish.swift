import WakeModel
import WakeSQLite

extension StateDatabase {
    /// The wish about the registration; nil when there is none and no instance token.
    func wish() throws(StateError) -> RegistrationWish? {
        try read { () throws(SQLiteError) in try storedWish() }
    }

    private func storedWish() throws(SQLiteError) -> RegistrationWish? {
        let row = try database.prepare(
            """
            SELECT instance_token, service, push_token, revision, acknowledged, failures,
              not_before, refused FROM wish
            """)
        guard try row.step() else { return nil }
        defer { row.reset() }
        guard let instanceToken = InstanceToken(row.blob(0)) else {
            throw SQLiteError(code: 11)  // SQLITE_CORRUPT
        }
        return RegistrationWish(
            instanceToken: instanceToken,
            kind: try Self.kind(service: row.integer(1), token: row.blob(2)),
            revision: row.integer(3), isAcknowledged: row.integer(4) != 0,
            failures: Int(row.integer(5)), notBefore: row.integer(6),
            refusedStatus: Int(row.integer(7)))
    }

    private static func kind(
        service: Int64, token: [UInt8]
    ) throws(SQLiteError) -> RegistrationWish.Kind {
        if service == 0 { return .absent }
        guard let service = UInt8(exactly: service).flatMap(PushService.init(rawValue:)) else {
            throw SQLiteError(code: 11)
        }
        do {
            return .registered(try WakeModel.PushToken(service: service, bytes: token))
        } catch {
            throw SQLiteError(code: 11)
        }
    }

    /// A new wish takes the place of the old one. The instance token of an old one is kept: only
    /// an acknowledged erasure ends it.
    /// - Returns: nil when the wish is `absent` and there is nothing to erase.
    func supersede(
        _ kind: RegistrationWish.Kind, newToken: @autoclosure () -> InstanceToken
    ) throws(StateError) -> RegistrationWish? {
        if kind == .absent, try wish() == nil { return nil }
        var wasThere = false
        // Read where it is written: of two processes with a first wish, one would lose the
        // instance token under which the other has registered already.
        let wish = try write(.wish) { () throws(SQLiteError) -> RegistrationWish? in
            let old = try storedWish()
            if old == nil, kind == .absent { return nil }
            wasThere = old != nil
            let wish = RegistrationWish(
                instanceToken: old?.instanceToken ?? newToken(), kind: kind,
                revision: (old?.revision ?? 0) + 1)
            try insert(wish)
            return wish
        }
        // The push token that was replaced must not stay behind in free space.
        if wasThere { try scrub() }
        return wish
    }

    /// Stores how an attempt ended, unless another wish came meanwhile.
    /// - Parameter wish: nil wipes everything about the registration.
    /// - Returns: whether it was stored.
    func store(
        _ wish: RegistrationWish?, ifRevision revision: Int64
    ) throws(StateError) -> Bool {
        let isCurrent = try write(.answer) { () throws(SQLiteError) in
            guard try database.integer("SELECT revision FROM wish") == revision else {
                return false
            }
            if let wish {
                try insert(wish)
            } else {
                try database.execute("DELETE FROM wish")
            }
            return true
        }
        if isCurrent, wish == nil { try scrub() }
        return isCurrent
    }

    private func insert(_ wish: RegistrationWish) throws(SQLiteError) {
        let statement = try database.prepare(
            "INSERT OR REPLACE INTO wish VALUES(1, ?, ?, ?, ?, ?, ?, ?, ?)")
        try wish.instanceToken.bytes.withSpan { (bytes) throws(SQLiteError) in
            try statement.bind(1, blob: bytes)
        }
        switch wish.kind {
        case .absent:
            try statement.bind(2, integer: 0)
            try statement.bind(3, blob: Span())
        case .registered(let token):
            try statement.bind(2, integer: Int64(token.service.rawValue))
            try token.bytes.withSpan { (bytes) throws(SQLiteError) in
                try statement.bind(3, blob: bytes)
            }
        }
        try statement.bind(4, integer: wish.revision)
        try statement.bind(5, integer: wish.isAcknowledged ? 1 : 0)
        try statement.bind(6, integer: Int64(wish.failures))
        try statement.bind(7, integer: wish.notBefore)
        try statement.bind(8, integer: Int64(wish.refusedStatus))
        try statement.run()
    }
}
