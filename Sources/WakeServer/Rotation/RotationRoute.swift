import WakeHTTP
import WakeModel
package import WakeStore
import WakeSystem

struct RotationRoute: Sendable {
    let rotator: Rotator
    let store: Store
    let broadcaster: Broadcaster

    /// GET: the effect of the next rotation. POST with `{"now":true}`: asks for it first, with
    /// `"yes":true` also when that drops people who had no time to renew.
    func handle(_ request: Request, _ responder: Responder) {
        switch request.method {
        case .get, .head: answer([], responder)
        case .post:
            do throws(JSONError) {
                answer(try request.flags(["now", "yes"]), responder)
            } catch { responder.respond(.problem(Problem(.json(error)))) }
        default: responder.respond(.methodNotAllowed(allow: "GET, HEAD, POST"))
        }
    }

    private func answer(_ flags: Set<String>, _ responder: Responder) {
        store.survey { survey in
            guard let survey else { return responder.respond(.problem(.storeUnavailable)) }
            if flags.contains("now") {
                let isConfirmed = flags.contains("yes")
                guard isConfirmed || !RotationStatus(survey, rotator.now).isEarly else {
                    return responder.respond(.problem(.rotationUnconfirmed))
                }
                rotator.ask()
            }
            var status = RotationStatus(survey, rotator.now)
            status.isRunGoingOn = broadcaster.report.isRunning
            responder.respond(.answer(status))
        }
    }
}

/// The numbers that an operator sees before and after a rotation.
package struct RotationStatus: Codable {
    package private(set) var generation: Int
    /// Seconds of running time until the next rotation.
    package private(set) var secondsLeft: Int
    /// Seconds of running time since the last one.
    package private(set) var age: Int
    /// Registrations that it would drop and keep, estimated.
    package private(set) var dropped: Int
    package private(set) var kept: Int
    package private(set) var isDue: Bool
    /// Whether a broadcast run goes on, for which it waits.
    package fileprivate(set) var isRunGoingOn = false
    package private(set) var rotations: Int
    package private(set) var failures: Int
    package private(set) var lastDropped = 0
    /// 0, or the number of the last failure.
    package private(set) var lastFailure = 0

    init(_ survey: StoreSurvey, _ state: Rotator.State) {
        let schedule = state.schedule
        generation = Int(clamping: survey.generation)
        secondsLeft = schedule.secondsLeft
        age = schedule.record.elapsed
        dropped = survey.previous
        kept = survey.current
        isDue = schedule.isDue
        rotations = state.rotations
        failures = state.failures
        if case .rotated(let report) = state.last { lastDropped = report.dropped }
        if case .failed(let failure) = state.last { lastFailure = failure.number }
    }

    /// Whether clients had no time to renew since the last rotation, and there are any.
    package var isEarly: Bool { age < RotationSchedule.longestRenewal && dropped + kept > 0 }

    private enum CodingKeys: String, CodingKey {
        case generation, secondsLeft = "seconds", age, dropped, kept, isDue = "due"
        case isRunGoingOn = "run_running", rotations, failures, lastDropped = "last_dropped"
        case lastFailure = "last_failure"
    }
}

extension RotationFailure {
    var number: Int {
        switch self {
        case .unavailable: 1
        case .keysUnwritable(let number): FileError(.write, number).isFull ? 3 : 2
        }
    }

    var name: StaticString { ["", "unavailable", "keys-unwritable", "keys-no-room"][number] }

    package static func message(number: Int) -> String {
        switch number {
        case 2:
            "the key file cannot be replaced: its directory must be writable by the service, and "
                + "the limit of open files not reached"
        case 3: "there is no room for the new key file; make room on its file system"
        default: "the store cannot be written now; see the log"
        }
    }
}
