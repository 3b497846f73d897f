package import WakeFiles

/// Why the VAPID key in the configuration cannot be used, or none be made.
package enum VAPIDKeyError: Error, Equatable, Sendable {
    case file(FileError)
    case fileNotPrivate
    case key(SigningError)

    /// libcrypto is missing or unfit: nothing in the configuration is wrong.
    package var isLibraryMissing: Bool {
        if case .key(.libraryMissing) = self { return true }
        return false
    }

    /// Two lines: what is wrong, and what to do.
    package var message: String {
        let (problem, hint) = words
        return "[webpush] key: \(problem)\nhint: \(hint)"
    }

    private static let fresh =
        "make one with reveille keygen --kind vapid FILE; apps must subscribe anew with its "
        + "public key"

    private var words: (problem: String, hint: String) {
        switch self {
        case .file(let error) where error.isMissing: ("there is no such file", Self.fresh)
        case .file(let error) where error.exists:
            (
                "the file exists; nothing is overwritten",
                "with another key every app must subscribe anew: keep the one that is there"
            )
        case .file(let error):
            (
                "cannot use the file: \(error.reason)",
                "name a file made with reveille keygen --kind vapid, owned by the user of this "
                    + "service"
            )
        case .fileNotPrivate:
            (
                "the file can be read by others, or is not this user's",
                "chown it to the user of this service and chmod 600 it"
            )
        case .key(.libraryMissing(.notFound)):
            ("cannot load libcrypto.so.3", "install the package libssl3: apt-get install libssl3")
        case .key(.libraryMissing):
            (
                "libcrypto.so.3 cannot be used",
                "reinstall the package libssl3: apt-get install --reinstall libssl3"
            )
        case .key(.keyMalformed), .key(.keyOfOtherSize):
            (
                "the file holds no readable private key",
                "it must be PKCS #8 as PEM, not encrypted; " + Self.fresh
            )
        case .key(.keyOfOtherKind): ("the key is not one on the curve P-256", Self.fresh)
        case .key(.outOfMemory):
            ("out of memory for a key", "free some memory and start again")
        }
    }
}
