package import WakeFiles

/// Why the service-account file in the configuration cannot be used. Nothing of its content is in
/// any of these.
package enum FCMCredentialError: Error, Equatable, Sendable {
    case file(FileError)
    case fileNotPrivate
    case fileMalformed
    case type
    case projectID
    case clientEmail
    case privateKeyID
    case tokenURI
    case key(SigningError)

    /// Two lines: what is wrong, and what to do.
    package var message: String {
        let (problem, hint) = words
        return "[fcm] key: \(problem)\nhint: \(hint)"
    }

    private static let fresh = "use the JSON file of a service account as downloaded"

    private var words: (problem: String, hint: String) {
        switch self {
        case .file(let error):
            (
                "cannot read the file: \(error.reason)",
                "name the JSON file as downloaded, owned by the user of this service"
            )
        case .fileNotPrivate:
            (
                "the file can be read by others, or is not this user's",
                "chown it to the user of this service and chmod 600 it"
            )
        case .fileMalformed: ("the file is not JSON as Google gives it out", Self.fresh)
        case .type:
            (
                "the file is not of a service account",
                "in the Firebase console: Project settings, Service accounts, Generate new "
                    + "private key"
            )
        case .projectID: ("project_id is missing or not a project's", Self.fresh)
        case .clientEmail: ("client_email is missing or no address", Self.fresh)
        case .privateKeyID: ("private_key_id is not of the form Google gives", Self.fresh)
        case .tokenURI: ("token_uri is missing or not an https address", Self.fresh)
        case .key(let error): keyWords(error)
        }
    }

    private func keyWords(_ error: SigningError) -> (problem: String, hint: String) {
        switch error {
        case .libraryMissing(.notFound):
            ("cannot load libcrypto.so.3", "install the package libssl3: apt-get install libssl3")
        case .libraryMissing:
            (
                "libcrypto.so.3 cannot be used",
                "reinstall the package libssl3: apt-get install --reinstall libssl3"
            )
        case .keyMalformed: ("private_key holds no readable private key", Self.fresh)
        case .keyOfOtherKind: ("private_key is not an RSA key", Self.fresh)
        case .keyOfOtherSize:
            ("private_key has fewer than 2048 bits, or more than 8192", Self.fresh)
        case .outOfMemory: ("out of memory for the key", "free some and start again")
        }
    }
}
