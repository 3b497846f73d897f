import ReveilleTesting
import Testing
import WakeModel
import WakeSystem

@testable import Reveille

/// The rules of reconciliation against a server, a line and a clock that do whatever they like,
/// without any I/O.
@Suite("Whatever is desired and whatever fails, the service ends with what was desired")
struct DesiredRegistrationModelTests {
    @Test("thousands of lives: at most one row at any time, and the desired one within six hours")
    func lives() throws {
        var answers: Set<Int> = []
        for seed in LongForm.seeds(4000, long: 200_000) {
            var life = Life(seed: seed)
            for _ in 0..<120 { try life.step() }
            let mostRows = life.mostRows
            #expect(mostRows <= 1, "seed \(seed)")
            let waited = try life.runUntilStable()
            // A second for what is rounded up.
            #expect(waited <= 6 * 3600 + 1, "seed \(seed)")
            #expect(life.isSettled || life.isForgotten, "seed \(seed)")
            // A service that then forgets is healed by the next renewal.
            life.forget()
            try life.pass(Int64(Reconciler.renewal.upperBound) + 1)
            #expect(life.isSettled, "seed \(seed)")
            answers.formUnion(life.answers)
        }
        #expect(answers == [0, 200, 204, 400, 429, 500])
    }
}

/// One device and its service, in the order in which things can happen.
private struct Life {
    private struct Flight {
        let desired: DesiredRegistration
        /// nil: no answer comes.
        let status: Int?
    }

    private let draw: SimulatedTime
    private var now: Int64 = 1_800_000_000
    /// What is durable.
    private var desired: DesiredRegistration?
    /// What was desired last: a push token, or nothing.
    private var wanted: [UInt8]?
    private var flight: Flight?
    private var mayRegister = true
    private var rows: [[UInt8]: [UInt8]] = [:]
    private(set) var mostRows = 0
    /// The service lost its rows, and nothing was sent since.
    private(set) var isForgotten = false
    private(set) var answers: Set<Int> = []

    init(seed: UInt64) { draw = SimulatedTime(seed: seed) }

    private func below(_ bound: UInt64) -> UInt64 { draw.random() % bound }

    mutating func step() throws {
        now += Int64(below(20_000))
        switch below(16) {
        case 0, 1: try supersede(Array("token-number-\(below(3))".utf8))
        case 2: try supersede(nil)
        // Retired: the client gives the registration up by itself.
        case 3 where below(4) == 0: try supersede(nil)
        case 4: mayRegister.toggle()
        case 5 where below(3) == 0: now += Int64(below(63_072_000)) - 31_536_000
        case 6 where below(3) == 0: forget()
        // The process dies; what was sent was sent.
        case 7: flight = nil
        case 8...11: send(isFaulty: true)
        default: receiveAnswer()
        }
    }

    /// As `StateDatabase.replaceRegistration`.
    private mutating func supersede(_ text: [UInt8]?) throws {
        wanted = text
        guard desired != nil || text != nil else { return }
        let kind: DesiredRegistration.Kind =
            if let text { .registered(try PushToken(service: .fcm, bytes: text)) } else { .absent }
        desired = DesiredRegistration(
            instanceToken: try desired?.instanceToken
                ?? #require(InstanceToken(draw.randomBytes(32))),
            kind: kind, revision: (desired?.revision ?? 0) + 1)
    }

    mutating func forget() {
        rows = [:]
        isForgotten = true
    }

    private mutating func send(isFaulty: Bool) {
        guard flight == nil, let desired else { return }
        let step = Reconciler.step(desired, now: now, mayRegister: mayRegister)
        guard step == .put || step == .delete else { return }
        #expect(mayRegister || step == .delete)
        let status: Int?
        switch isFaulty ? below(7) : 6 {
        // Never arrives.
        case 0: status = nil
        case 1:
            serve(desired)
            status = nil
        case 2: status = 500
        case 3: status = 429
        // A captive portal.
        case 4: status = 200
        case 5: status = 400
        default:
            serve(desired)
            status = 204
        }
        flight = Flight(desired: desired, status: status)
    }

    private mutating func serve(_ desired: DesiredRegistration) {
        let key = desired.instanceToken.bytes.copy()
        if case .registered(let token) = desired.kind {
            rows[key] = token.bytes.copy()
        } else {
            rows[key] = nil
        }
        mostRows = max(mostRows, rows.count)
        isForgotten = false
    }

    /// The answer arrives, or the wait for it ends.
    private mutating func receiveAnswer() {
        guard let flight else { return }
        self.flight = nil
        answers.insert(flight.status ?? 0)
        let answer: Reconciler.Answer =
            if let status = flight.status {
                Reconciler.answer(
                    status: status, retryAfter: status == 429 ? Int(below(100_000)) : nil)
            } else {
                .failed(retryAfter: nil)
            }
        let next = Reconciler.apply(
            answer, to: flight.desired, now: now, random: draw.randomUnit())
        // As `StateDatabase.store(_:ifRevision:)`.
        if desired?.revision == flight.desired.revision { desired = next }
    }

    /// No fault from here on.
    /// - Returns: seconds until the service has what was desired.
    mutating func runUntilStable() throws -> Int64 {
        flight = nil
        mayRegister = true
        let start = now
        for _ in 0..<10 {
            switch Reconciler.step(desired, now: now, mayRegister: mayRegister) {
            case .rest: return now - start
            case .wait where desired?.isAcknowledged == true: return now - start
            case .wait(let time): now = time
            case .put, .delete:
                send(isFaulty: false)
                receiveAnswer()
            }
        }
        throw Endless()
    }

    struct Endless: Error {}

    /// Time goes by, with a line and a service that work.
    mutating func pass(_ seconds: Int64) throws {
        let end = now + seconds
        for _ in 0..<10 {
            send(isFaulty: false)
            receiveAnswer()
            guard case .wait(let time) = Reconciler.step(desired, now: now, mayRegister: true),
                time <= end
            else { break }
            now = time
        }
        now = end
    }

    var isSettled: Bool {
        Array(rows.values) == [wanted].compactMap(\.self) && (desired == nil) == (wanted == nil)
    }
}
