package import WakeFiles

/// Why nothing can be said. Says nothing about the file's content.
package enum AuditFailure: Error, Equatable {
    /// The file, or the directory it lies in, cannot be read.
    case file(FileError)
    /// Neither a file nor a link to one.
    case notAFile
    /// The key file cannot be read.
    case keys(FileError)
    /// The policy is not of the form this program knows.
    case policy
    /// The file was written to during every attempt, or a service holds it and its log is in use.
    case changing

    /// What to say, and what to do about it on a second line.
    package var message: String {
        switch self {
        case .file(let error): "the file cannot be read: \(error.reason)"
        case .notAFile:
            "that is not a file\nhint: name the database, e.g. data/registrations.db"
        case .keys(let error): "the key file cannot be read: \(error.reason)"
        case .policy: "the policy is no privacy manifest this program can hold a file against"
        case .changing:
            "the service that holds the file wrote to it while it was read\n"
                + "hint: try again in a calm moment, stop the service, or audit a copy of the "
                + "data directory"
        }
    }
}
