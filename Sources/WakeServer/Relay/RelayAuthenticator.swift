import Synchronization
import WakeHTTP
import WakeModel
import WakePush
import WakeSystem

/// The checks of a request, in order: form, installation, signature, age and nonce, limits. Memory
/// holds of each installation the nonces of a minute, a budget, and the number of requests.
final class RelayAuthenticator: Sendable {
    /// A request signed by an allowed installation; its body is not verified yet.
    struct AuthenticatedRequest: Sendable {
        let request: RelayRequest
        var key: [UInt8] { request.key }
    }

    private struct ClientState {
        var replays: ReplayGuard
        var budget: TokenBucket
        var requests = 0
        /// Milliseconds.
        var lastSeen: UInt64
    }

    private struct State {
        var clients: [[UInt8]: ClientState] = [:]
        /// The number of large bodies by installation.
        var bodies: [[UInt8]: Int] = [:]
        /// Seconds since 1970: earlier requests may have been seen before, and forgotten.
        var start: Int
    }

    private let settings: RelaySettings
    private let authority: [UInt8]
    private let file: InstallationFile
    private let clock: TimeSource
    private let state: Mutex<State>

    /// The number of clients at which unused ones are looked for.
    private static let remembered = 1024
    /// Seconds after which a client's signatures are stale and its budget is full.
    private static let memory = 120

    init(_ settings: RelaySettings, file: InstallationFile, clock: TimeSource) {
        self.settings = settings
        self.file = file
        self.clock = clock
        authority = Array(settings.authority.utf8)
        state = Mutex(State(start: Int(clock.wallSeconds())))
    }

    /// Authenticates the head of a request. Changes nothing: the body may never come.
    func authenticate(_ request: Request) throws(RelayProblem) -> AuthenticatedRequest {
        let signed = try mapError(RelayProblem.signature) { () throws(SignatureError) in
            try RelayRequest(
                contentType: Self.value("content-type", of: request),
                contentDigest: Self.value("content-digest", of: request),
                signatureInput: Self.value("signature-input", of: request),
                signature: Self.value("signature", of: request))
        }
        // RFC 9421 §2.2.3: the client signs the host it means; a proxy may have changed Host.
        guard let host = request.onlyValue(of: "host"), settings.matches(host: host)
        else { throw .signature(.wrong) }
        switch file.status(of: signed.key) {
        case .unknown: throw .installationUnknown
        case .unusable: throw .unavailable
        case .allowed(let key):
            let created = signed.signature.parameters.created
            guard SignatureWindow.contains(created, now: Int(clock.wallSeconds()))
            else { throw .signature(.stale) }
            try mapError(RelayProblem.signature, signed.verify(authority: authority, key: key))
            return AuthenticatedRequest(request: signed)
        }
    }

    /// A large body of an installation, from its head until it was verified.
    final class BodyReservation: Sendable {
        private let authenticator: RelayAuthenticator
        private let key: [UInt8]

        fileprivate init(_ authenticator: RelayAuthenticator, _ key: [UInt8]) {
            self.authenticator = authenticator
            self.key = key
        }

        deinit {
            authenticator.state.withLock { state in
                let left = state.bodies[key, default: 1] - 1
                state.bodies[key] = left > 0 ? left : nil
            }
        }
    }

    /// Reserves room for a large body, as many for an installation as requests.
    func reserveBody(_ request: AuthenticatedRequest) throws(RelayProblem) -> BodyReservation {
        try state.withLock { state throws(RelayProblem) in
            let count = state.bodies[request.key, default: 0]
            guard count < Limits.relayRequestsEach else { throw .busy(seconds: 1) }
            state.bodies[request.key] = count + 1
        }
        return BodyReservation(self, request.key)
    }

    /// Admits a request whose body is verified; `end` must follow.
    func begin(_ request: AuthenticatedRequest) throws(RelayProblem) {
        let parameters = request.request.signature.parameters
        let (now, wall) = (clock.milliseconds(), Int(clock.wallSeconds()))
        try state.withLock { state throws(RelayProblem) in
            if state.clients[request.key] == nil { Self.dropUnused(&state, now, wall) }
            var client = state.clients[request.key] ?? newClient(since: state.start, now: now)
            defer { state.clients[request.key] = client }
            client.lastSeen = now
            try mapError(RelayProblem.signature) { () throws(SignatureError) in
                try client.replays.admit(
                    created: parameters.created, nonce: parameters.nonce, now: wall)
            }
            guard client.requests < Limits.relayRequestsEach else { throw .busy(seconds: 1) }
            client.requests += 1
        }
    }

    private func newClient(since start: Int, now: UInt64) -> ClientState {
        // At least one batch fits into the smallest budget.
        let burst = max(settings.wakesPerMinute, RelayBatch.maximumWakes)
        return ClientState(
            replays: ReplayGuard(start: start, capacity: Limits.relayNonces),
            budget: TokenBucket(
                tokens: settings.wakesPerMinute, per: .seconds(60), burst: burst, isFull: true),
            lastSeen: now)
    }

    /// Takes `count` wake-ups from the installation's budget.
    func charge(_ count: Int, to request: AuthenticatedRequest) throws(RelayProblem) {
        let now = clock.milliseconds() * 1_000_000
        let wait = state.withLock { state in
            state.clients[request.key]?.budget.take(count, now: now)
        }
        if let wait { throw .busy(seconds: Int((wait + 999_999_999) / 1_000_000_000)) }
    }

    func end(_ request: AuthenticatedRequest) {
        state.withLock { $0.clients[request.key]?.requests -= 1 }
    }

    private static func dropUnused(_ state: inout State, _ now: UInt64, _ wall: Int) {
        guard state.clients.count >= remembered else { return }
        state.clients = state.clients.filter {
            $1.requests > 0 || now - $1.lastSeen < UInt64(memory) * 1000
        }
        state.start = max(state.start, wall - memory)
    }

    /// The value of a field; several are combined, and thereby malformed (RFC 9110 §5.3).
    private static func value(_ name: StaticString, of request: Request) -> [UInt8]? {
        let values = request.values(of: name)
        return values.isEmpty ? nil : Array(values.joined(separator: [0x2C, 0x20]))
    }
}
