import WakeClient
import WakeCommand

/// What the service holds. `WakeModel` has a type of the same name.
typealias ServiceRow = StoredRegistration

/// What the commands say, for people and for scripts.
enum Report {
    static func word(_ state: RegistrationState) -> String {
        switch state {
        case .none: "none"
        case .registered: "registered"
        case .registering: "registering"
        case .unregistering: "unregistering"
        case .suspended: "suspended"
        }
    }

    static func failure(_ state: RegistrationState) -> ClientError? {
        switch state {
        case .registering(let failure), .unregistering(let failure): failure
        case .none, .registered, .suspended: nil
        }
    }

    static func sentence(_ state: RegistrationState) -> String {
        let reason = failure(state).map { ": \(CommandFailure.message($0))" } ?? ""
        return switch state {
        case .none: "nothing is registered"
        case .registered: "registered"
        case .registering(.notServed?):
            "not registered\(reason)\nhint: \(CommandFailure.hint(.notServed) ?? "")"
        case .registering: "registering, run and sync keep trying\(reason)"
        case .unregistering: "unregistering, run and sync keep trying\(reason)"
        case .suspended: "registered once the publisher allows it again"
        }
    }

    /// Members of a JSON object, without braces.
    static func registration(_ state: RegistrationState) -> String {
        "\"registration\":\"\(word(state))\",\"failure\":\(code(failure(state)))"
    }

    /// Batches that wait for another day's budget; `time` is the midnight that ends this one.
    static func waiting(_ batches: Int, until time: Int64) -> String {
        let count = batches == 1 ? "1 batch waits" : "\(batches) batches wait"
        return "\(count) until \(date(time)) UTC: the day's bytes are used up"
    }

    /// The day that begins then, as YYYY-MM-DD 00:00.
    private static func date(_ time: Int64) -> String {
        // The calendar repeats every 400 years of 146,097 days; counted from 1 March, leap days
        // come last (howardhinnant.github.io/date_algorithms.html, civil_from_days).
        let days = time / 86_400 + 719_468
        let (era, day) = (days / 146_097, days % 146_097)
        let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365
        let dayOfYear = day - (365 * year + year / 4 - year / 100)
        let month = (5 * dayOfYear + 2) / 153
        let civil = month < 10 ? month + 3 : month - 9
        let two = { (number: Int64) in number < 10 ? "0\(number)" : "\(number)" }
        let dayOfMonth = dayOfYear - (153 * month + 2) / 5 + 1
        return "\(era * 400 + year + (civil <= 2 ? 1 : 0))-\(two(civil))-\(two(dayOfMonth)) 00:00"
    }

    static func code(_ error: ClientError?) -> String {
        error.map { "\"\($0.code)\"" } ?? "null"
    }

    static func warning(_ warning: Warning) -> String {
        switch warning {
        case .silence(let days): "no news of the feed for \(days) days"
        case .fork(let sequence):
            "two different batches \(sequence) exist; nothing newer is checked"
        case .gap(let first, let last):
            "batches \(first) to \(last) were missed and can never be checked"
        case .stale: "the feed's head has expired"
        case .clockSkew(let seconds): "the clock differs from the feed's by \(seconds) s"
        case .badFeed: "nothing but heads without a valid signature for a day"
        case .rollback: "nothing but heads older than one seen before for a day"
        case .stateReset: "the state was damaged and begun anew; matches may be told again"
        case .diskFull: "there is no room on the disk"
        case .cacheFull:
            "there is no room for fetched batches: they were checked, but a secret added later "
                + "will not be checked against them"
        case .retired: "the feed has ended"
        case .registrationRefused(422):
            "the service sends nothing to such a push token: its operator has not configured this "
                + "push service, or not this endpoint's host"
        case .registrationRefused(let status):
            "the service refuses the registration with status \(status)"
        case .distributorFails(let trouble):
            "no pushes come: \(distributor(trouble)); listening and polling go on"
        }
    }

    static func distributor(_ trouble: Warning.DistributorTrouble) -> String {
        switch trouble {
        case .absent: "the distributor does not answer"
        case .failing: "the distributor fails again and again"
        case .actionRequired: "the distributor wants something done, such as a login"
        case .vapidRequired: "the distributor wants the service's key, see push use --vapid"
        case .unregistered: "the distributor ended the registration again and again"
        case .unsupported: "the distributor does not speak org.unifiedpush.Distributor2"
        }
    }
}
