import WakeHTTP
import WakeModel
import WakePush

/// Why a request to the relay is not served.
enum RelayProblem: Error, Equatable, Sendable {
    case signature(SignatureFault)
    /// Never allowed, or revoked: the same answer.
    case installationUnknown
    case batch(RelayBatchError)
    /// Too many wake-ups in a minute, or requests at once.
    case busy(seconds: Int)
    /// The file of installations cannot be used, or the service stops.
    case unavailable

    var problem: Problem {
        switch self {
        case .signature(.missing): .signatureMissing
        case .signature(.malformed): .signatureMalformed
        case .signature(.wrong): .signatureWrong
        case .signature(.stale): .signatureStale
        case .signature(.replayed): .signatureReplayed
        case .installationUnknown: .installationUnknown
        case .batch(.json(let error)): Problem(.json(error))
        case .batch(.malformed): .relayBatchMalformed
        case .batch(.tooLarge): .relayBatchTooLarge
        case .batch(.unknownService): .serviceUnknown
        // 413 would be about the batch: it is not too large.
        case .batch(.token): .pushTokenMalformed
        case .busy: .relayBusy
        case .unavailable: .relayUnavailable
        }
    }

    var response: Response {
        guard case .busy(let seconds) = self else { return Answers.problem(problem) }
        return .problem(
            problem.status, title: problem.title, code: problem.code,
            fields: [("Retry-After", String(seconds))])
    }
}
