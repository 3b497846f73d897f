package import WakeHTTP
package import WakeModel
package import WakePush
package import WakeSystem

/// `POST /v1/relay/wakes`: wake-ups of push tokens that only this service can wake.
package struct RelayRoute: Sendable {
    package let service: RelayService
    private let authenticator: RelayAuthenticator

    package init(
        _ settings: RelaySettings, file: InstallationFile, gateways: [any Gateway],
        clock: TimeSource = .relay, report: @escaping RelayEvent.Handler
    ) {
        authenticator = RelayAuthenticator(settings, file: file, clock: clock)
        service = RelayService(
            authenticator: authenticator, gateways: Self.usable(gateways), clock: clock,
            report: report)
    }

    /// Authenticates the head of a request, on the event loop's thread. The service reads the body.
    package func handle(_ request: Request, _ responder: Responder) {
        guard request.method == .post
        else { return responder.respond(.methodNotAllowed(allow: "POST")) }
        do throws(RelayProblem) {
            service.accept(request, responder, try authenticator.authenticate(request))
        } catch { service.refuse(responder, error) }
    }

    /// Takes other gateways for requests from now on; sessions of the others end their work.
    package func replace(_ gateways: [any Gateway], of services: [PushService]) {
        service.replace(Self.usable(gateways), of: services)
    }

    /// Never those that go through a relay themselves: two could ask each other for ever.
    private static func usable(_ gateways: [any Gateway]) -> [any Gateway] {
        gateways.filter { !($0 is RelayGateway) && $0.wakesTokens }
    }

    /// The rule for large bodies: none read from strangers, and no installation takes all memory.
    package var largeBodies: BodyMemoryBudget {
        BodyMemoryBudget(
            path: RelayRequest.path, bytes: RelayRequest.maximumBytes,
            atOnce: Limits.relayLargeBodies
        ) { [authenticator, service] request in
            do throws(RelayProblem) {
                let authenticated = try authenticator.authenticate(request)
                return .admitted(holding: try authenticator.reserveBody(authenticated))
            } catch { return .rejected(service.response(to: error)) }
        }
    }
}

/// An event of the relay for the log of the service that runs it.
package enum RelayEvent: Sendable {
    package typealias Handler = @Sendable (RelayEvent) -> Void

    case batch(RelayCounts)
    case refused(Problem)
    case gatewayStopped(PushService, GatewayFailure)
}

extension TimeSource {
    /// The clock of a relay: it counts while the machine is suspended, because push services do.
    package static let relay = TimeSource(
        milliseconds: { SystemClock.bootNanoseconds / 1_000_000 },
        random: { SystemRandom.unit() })
}

/// The reason why a request to the relay is not served.
enum RelayProblem: Error, Equatable, Sendable {
    case signature(SignatureError)
    /// Never allowed, or revoked: the same response.
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
        // 413 would be about the batch, which is not too large.
        case .batch(.token): .pushTokenMalformed
        case .busy: .relayBusy
        case .unavailable: .relayUnavailable
        }
    }

    var response: Response {
        let fields: [(StaticString, String)] =
            switch self {
            case .busy(let seconds): [("Retry-After", String(seconds))]
            case .unavailable: [("Retry-After", "60")]
            default: []
            }
        return .problem(problem.status, title: problem.title, code: problem.code, fields: fields)
    }
}
