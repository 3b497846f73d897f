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

    var clientError: ClientError {
        switch cause {
        case .full: .diskFull
        case .newerVersion: .state(.newerVersion)
        case .corrupt, .other: .state(.unusable(0))
        }
    }
}
