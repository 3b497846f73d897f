import Dispatch
import Synchronization
import WakeHTTP
import WakeModel
import WakeStore
import WakeSystem

/// Lets new registrations in, or asks for a proof of work. Only the store knows which are new: it
/// asks in its transaction. A renewal or move is never asked, except through a relay, which counts
/// requests: there a proof is asked for before the store is, whatever it has.
final class NewRegistrations: Sendable {
    private struct State {
        var budget: RegistrationBudget
        var used = UsedProofs()
    }

    private let state: Mutex<State>
    private let key = ChallengeKey()
    private let fill: @Sendable () -> Double
    private let now: @Sendable () -> UInt64
    private let draw: @Sendable () -> Double

    let admitted = Counter("registers_new", "registrations that were new")
    let challenged = Counter("registers_challenged", "times work was asked for")

    init(
        _ budget: RegistrationBudget, fill: @escaping @Sendable () -> Double,
        now: @escaping @Sendable () -> UInt64 = { SystemClock.bootNanoseconds },
        draw: @escaping @Sendable () -> Double = { SystemRandom.unit() }
    ) {
        var budget = budget
        budget.assume(fill: fill(), now: now())
        state = Mutex(State(budget: budget))
        self.fill = fill
        self.now = now
        self.draw = draw
    }

    convenience init(_ configuration: Configuration, _ store: Store) {
        let (counters, pages) = (store.counters, Double(store.configuration.newRowPages))
        let budget = RegistrationBudget(
            configuration.room, perPrefix: configuration.newPerPrefix,
            free: configuration.freeRegistrations)
        self.init(budget) {
            Double(max(0, counters.pages.now - StoreSchema.emptyPages)) / pages
        }
    }

    /// Takes the limits of a configuration that was read again.
    func change(to configuration: Configuration) {
        let now = now()
        state.withLock {
            $0.budget.change(
                perPrefix: configuration.newPerPrefix, free: configuration.freeRegistrations,
                now: now)
        }
    }

    /// The bits that are asked for now.
    var neededBits: Int {
        let (fill, now) = (fill(), now())
        return state.withLock {
            $0.budget.neededBits(fill: fill, used: $0.used.fill, now: now)
        }
    }

    /// The question that the store asks when a registration turns out to be new: once more when it
    /// repeats a transaction that failed, which is not counted again.
    /// - Returns: nil when a proof is asked for first, whatever is stored.
    func question(
        _ token: InstanceToken, proof: RegistrationProof?, from origin: RegistrationOrigin
    ) -> (@Sendable () -> Bool)? {
        let worked = proof.flatMap { key.bits(of: $0, for: token, now: now()) }
        let isRelayed = if case .oblivious = origin { true } else { false }
        let isWork = worked.map(suffices) ?? false
        if isRelayed, !isWork, !isOpenToRelayed() { return nil }
        let bits = isRelayed && !isWork ? nil : worked
        let isCounted = Flag()
        return { [self] in
            guard !isCounted.value.load(ordering: .relaxed) else { return true }
            let places = origin.places
            let (fill, now, draw) = (fill(), now(), draw())
            let (admits, isFirst) = state.withLock { state in
                let wasEmpty = state.used.isEmpty
                let proof = bits.flatMap { _ in proof }
                // Without a proof that of a relay was let in already.
                if isRelayed, proof == nil {
                    state.budget.count(places, draw: draw, now: now)
                    return (true, false)
                }
                let counts = proof.map(state.used.allows) ?? false
                let admits = state.budget.admits(
                    from: places, bits: counts ? bits : nil, fill: fill, used: state.used.fill,
                    draw: draw, now: now)
                if admits, counts, let proof { state.used.insert(proof, now: now) }
                return (admits, wasEmpty && !state.used.isEmpty)
            }
            if isFirst { forgetLater() }
            if admits {
                isCounted.value.store(true, ordering: .relaxed)
                admitted.add()
            } else {
                challenged.add()
            }
            return admits
        }
    }

    private func suffices(_ bits: Int) -> Bool {
        bits >= neededBits - RegistrationBudget.slack
    }

    private func isOpenToRelayed() -> Bool {
        let (fill, now) = (fill(), now())
        let isOpen = state.withLock { $0.budget.isOpen(to: .oblivious, fill: fill, now: now) }
        if !isOpen { challenged.add() }
        return isOpen
    }

    /// Used proofs are forgotten also when nobody comes any more.
    private func forgetLater() {
        let later = DispatchTime.now() + .seconds(ChallengeKey.seconds)
        DispatchQueue.global().asyncAfter(deadline: later) { [weak self] in
            guard let self else { return }
            let now = now()
            let isLeft = state.withLock { state in
                state.used.forget(now: now)
                return !state.used.isEmpty
            }
            if isLeft { forgetLater() }
        }
    }

    private final class Flag: Sendable {
        let value = Atomic(false)
    }

    /// 429 with a challenge (RFC 6585 §4). `Retry-After` is for clients that know of none.
    func challenge(for token: InstanceToken) -> Response {
        let challenge = key.challenge(for: token, bits: neededBits, now: now())
        return Response(
            Problem.proofNeeded.status,
            fields: [
                ("Content-Type", "application/problem+json"), ("Cache-Control", "no-store"),
                ("Retry-After", "60"),
            ],
            body: .bytes(challenge.problem()))
    }
}

/// Where a registration came from, as far as anybody knows.
enum RegistrationOrigin: Sendable {
    /// A hash of the client's prefix; nil where none is known.
    case network(PrefixHash?)
    /// Through a relay: from anywhere.
    case oblivious

    fileprivate var places: RegistrationBudget.Origin {
        switch self {
        case .network(let source): .network(source?.slots(of: RegistrationBudget.places))
        case .oblivious: .oblivious
        }
    }
}

extension Configuration {
    /// The rows up to which new ones are taken: about five a page.
    package var storeRows: Int { store.newRowPages * Limits.rowsPerPage }

    fileprivate var room: RegistrationBudget.Room {
        RegistrationBudget.Room(rows: storeRows, lifeSeconds: 2 * rotationSeconds)
    }

    /// New registrations that cost their clients nothing.
    var freeRegistrations: RegistrationBudget.Free {
        guard newPerDay > 0 else { return RegistrationBudget.free(room) }
        return RegistrationBudget.Free(atOnce: newPerDay, perDay: newPerDay)
    }

    package var freeRegistrationsSummary: String {
        let free = freeRegistrations
        return "\(free.atOnce) at once and \(free.perDay) a day, \(newPerPrefix) in ten minutes "
            + "from one network; beyond that clients prove some work"
    }
}
