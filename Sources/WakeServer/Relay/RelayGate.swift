import Synchronization
import WakeHTTP
import WakeModel
import WakePush
import WakeSodium

/// Who is let through: first what costs nothing, then the list of installations, then the
/// signature, then whether the request is new, and last how much the installation may send.
///
/// It knows installations by their public keys and remembers of each, in memory only, the nonces of
/// a minute, a budget, and how many requests it has in work.
final class RelayGate: Sendable {
    /// A request that is signed by an allowed installation; its body is not looked at yet.
    struct Visit: Sendable {
        let request: RelayRequest
        var key: [UInt8] { request.key }
    }

    private struct Visitor {
        var replays: ReplayGuard
        var budget: WakeBudget
        var requests = 0
        /// Milliseconds.
        var lastSeen: UInt64
    }

    private struct State {
        var visitors: [[UInt8]: Visitor] = [:]
        /// Large bodies by installation, while there are any.
        var bodies: [[UInt8]: Int] = [:]
        /// Seconds since 1970: what was signed before may have come to the program that ran until
        /// then, or to a visitor that is forgotten.
        var start: Int
    }

    private let settings: RelaySettings
    private let authority: [UInt8]
    private let file: InstallationFile
    private let clock: RelayClock
    private let state: Mutex<State>

    init(_ settings: RelaySettings, file: InstallationFile, clock: RelayClock = .system) {
        self.settings = settings
        self.file = file
        self.clock = clock
        authority = Array(settings.authority.utf8)
        state = Mutex(State(start: clock.wall()))
    }

    /// Judges the head of a request. Changes nothing: the body may never come.
    func judge(_ request: Request) throws(RelayProblem) -> Visit {
        let signed: RelayRequest
        do throws(SignatureFault) {
            signed = try RelayRequest(
                contentType: Self.value("content-type", of: request),
                contentDigest: Self.value("content-digest", of: request),
                signatureInput: Self.value("signature-input", of: request),
                signature: Self.value("signature", of: request))
        } catch {
            throw .signature(error)
        }
        // RFC 9421 §2.2.3: what is signed is whom the client means; a front may have changed Host.
        guard let host = request.onlyValue(of: "host"), settings.isNamed(by: host) else {
            throw .signature(.wrong)
        }
        switch file.ask(signed.key) {
        case .unknown: throw .installationUnknown
        case .unusable: throw .unavailable
        case .allowed(let key):
            let created = signed.signature.parameters.created
            guard SignatureWindow.contains(created, now: clock.wall()) else {
                throw .signature(.stale)
            }
            do throws(SignatureFault) {
                try signed.verify(authority: authority, key: key)
            } catch {
                throw .signature(error)
            }
            return Visit(request: signed)
        }
    }

    /// A large body of an installation, from its head on until it was looked at.
    final class Body: Sendable {
        private let gate: RelayGate
        private let key: [UInt8]

        fileprivate init(_ gate: RelayGate, _ key: [UInt8]) {
            self.gate = gate
            self.key = key
        }

        deinit {
            gate.state.withLock { state in
                let left = state.bodies[key, default: 1] - 1
                state.bodies[key] = left > 0 ? left : nil
            }
        }
    }

    /// Lets a large body come: of one installation as many at once as it may have requests, so that
    /// slow ones do not keep the others out.
    func expect(_ visit: Visit) throws(RelayProblem) -> Body {
        let isTaken = state.withLock { state in
            guard state.bodies[visit.key, default: 0] < Limits.relayRequestsEach else {
                return false
            }
            state.bodies[visit.key, default: 0] += 1
            return true
        }
        guard isTaken else { throw .busy(seconds: 1) }
        return Body(self, visit.key)
    }

    /// Takes in a request whose body is verified: from now on `leave` is due.
    func enter(_ visit: Visit) throws(RelayProblem) {
        let parameters = visit.request.signature.parameters
        let (now, wall) = (clock.milliseconds(), clock.wall())
        let refusal = state.withLock { state -> RelayProblem? in
            if state.visitors[visit.key] == nil { Self.forget(&state, now, wall) }
            var visitor =
                state.visitors[visit.key]
                ?? Visitor(
                    replays: ReplayGuard(start: state.start, capacity: Limits.relayNonces),
                    budget: WakeBudget(perMinute: settings.wakesPerMinute, now: now),
                    lastSeen: now)
            defer { state.visitors[visit.key] = visitor }
            visitor.lastSeen = now
            do throws(SignatureFault) {
                try visitor.replays.admit(
                    created: parameters.created, nonce: parameters.nonce, now: wall)
            } catch {
                return .signature(error)
            }
            guard visitor.requests < Limits.relayRequestsEach else { return .busy(seconds: 1) }
            visitor.requests += 1
            return nil
        }
        if let refusal { throw refusal }
    }

    /// Takes so many wake-ups out of the installation's budget.
    func spend(_ count: Int, _ visit: Visit) throws(RelayProblem) {
        let now = clock.milliseconds()
        let seconds = state.withLock { state in
            state.visitors[visit.key]?.budget.take(count, now: now)
        }
        if let seconds { throw .busy(seconds: seconds) }
    }

    /// A request that entered is over.
    func leave(_ visit: Visit) {
        state.withLock { $0.visitors[visit.key]?.requests -= 1 }
    }

    /// Lets go of installations that were not seen for two minutes: what they had signed is stale
    /// by now, and their budget is full again.
    private static func forget(_ state: inout State, _ now: UInt64, _ wall: Int) {
        guard state.visitors.count >= remembered else { return }
        state.visitors = state.visitors.filter { $1.requests > 0 || now - $1.lastSeen < 120_000 }
        state.start = max(state.start, wall - 120)
    }

    /// Installations of which something is remembered before that is asked.
    private static let remembered = 1024

    /// The value of a field; one that comes twice is nobody's.
    private static func value(
        _ name: StaticString, of request: Request
    ) -> [UInt8]? {
        let values = request.values(of: name)
        guard let first = values.first else { return nil }
        // RFC 9110 §5.3: as if they were one field, which is none of ours.
        return values.count == 1 ? Array(first) : Array(values.joined(separator: [0x2C, 0x20]))
    }
}
