import WakeFiles
import WakeSQLite

/// Why the state database could not be read or written.
struct StateError: Error, Equatable {
    enum Cause: Equatable {
        case full
        case corrupt
        case newerVersion
        case other(Int32)
    }

    let cause: Cause

    init(_ cause: Cause) {
        self.cause = cause
    }

    init(_ error: SQLiteError) {
        cause =
            if error.isFull {
                .full
            } else if error.isCorrupt {
                .corrupt
            } else {
                .other(error.code)
            }
    }

    /// On a full disk SQLite cannot even make the files beside the database, and says so as an
    /// error of any kind (sqlite.org/rescode.html#ioerr_shmsize).
    init(_ error: SQLiteError, of path: String) {
        self.init(error)
        guard case .other = cause, let free = try? Files.freeBytes(at: path) else { return }
        if free < 65_536 { self = StateError(.full) }
    }

    var clientError: ClientError {
        switch cause {
        case .full: .diskFull
        case .newerVersion: .state(.newerVersion)
        case .corrupt, .other: .state(.unusable(0))
        }
    }
}
