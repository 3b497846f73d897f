/// What a program's exit status says, the same for every command.
package enum ExitStatus: Int32, Sendable, CaseIterable {
    case success = 0
    case failure = 1
    case usage = 2
    /// `audit` found violations.
    case violations = 3
    /// `audit` could not look.
    case notAudited = 4
    /// `sync` found a match.
    case match = 10
    // sysexits.h, for what scripts and init systems decide on.
    case badData = 65
    case ioError = 74
    case transient = 75
    case configuration = 78

    /// What manuals say of it.
    package var meaning: String {
        switch self {
        case .success: "Success; there was nothing to report."
        case .failure: "What was asked could not be done; the message says why."
        case .usage: "The command line was not understood."
        case .violations: "`audit` found violations."
        case .notAudited: "`audit` could not look."
        case .match: "`sync` found a match."
        case .badData: "The data is not what it must be; trying again does not help."
        case .ioError: "A file could not be read or written, or there is no room."
        case .transient: "It did not work now; trying again later may help."
        case .configuration: "The configuration or the installation must be mended first."
        }
    }
}
