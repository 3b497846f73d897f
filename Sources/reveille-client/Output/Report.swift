import WakeClient
import WakeCommand

/// What the service holds. `WakeModel` has a type of the same name.
typealias ServiceRow = HeldRegistration

/// Texts of the commands, for people and for scripts.
enum Report {
    /// Writes names: one JSON object with one member, or one name a line.
    static func show(_ names: [String], as member: String, json: Bool) {
        if json {
            let list = names.map { "\"\($0)\"" }.joined(separator: ",")
            Console().out("{\"\(member)\":[\(list)]}")
        } else {
            for name in names { Console().out(name) }
        }
    }

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
        case .stateReset: "the state was damaged and begun again; matches may be reported again"
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

extension CommandFailure {
    /// The one place where failures of the client library become messages and exit statuses.
    init(_ error: ClientError) {
        self.init(Self.message(error), hint: Self.hint(error), status: Self.status(error))
    }

    static func status(_ error: ClientError) -> ExitStatus {
        switch error {
        case .network, .tls, .truncated, .rollback, .cancelled, .locked: .transient
        case .httpStatus: error.isTransient ? .transient : .badData
        case .tooLarge, .badSignature, .wrongFeed, .fork, .corruptBatch, .protocolViolation:
            .badData
        case .source: error.isTransient ? .transient : .badData
        // Permissions are corrected by the user, as a configuration is.
        case .state(.exposed): .configuration
        case .state, .diskFull, .secrets: .ioError
        case .configuration, .notServed: .configuration
        case .notRegistered, .stillRegistered: .failure
        }
    }

    static func message(_ error: ClientError) -> String {
        switch error {
        case .network: "the server cannot be reached"
        case .tls: "the server's certificate cannot be verified"
        case .httpStatus(let status, _): "the server answered \(status)"
        case .truncated: "the answer broke off; it is continued next time"
        case .tooLarge: "the answer is larger than any feed's"
        case .badSignature: "what came is not signed with this feed's key"
        case .wrongFeed: "what came belongs to another feed"
        case .rollback: "the feed is older than one seen before"
        case .fork: "this feed shows different people different things"
        case .corruptBatch: "a batch is damaged, also when fetched afresh"
        case .state(.newerVersion): "the state was written by a newer version of this program"
        case .state(.exposed): "the state directory or a file in it is open to others"
        case .state(.unusable): "the state cannot be read or written"
        case .locked: "another process works with this profile"
        case .diskFull: "there is no room for the state"
        case .configuration(let fault): configuration(fault)
        case .protocolViolation: "the server does not follow the protocol"
        case .notRegistered: "nothing is registered"
        case .notServed: "the service sends nothing to such a push token"
        case .stillRegistered: "the service may still hold a registration"
        case .secrets: "the secrets cannot be read"
        case .source: "the app's own source failed"
        case .cancelled: "interrupted"
        }
    }

    private static func configuration(_ fault: ClientError.ConfigurationFault) -> String {
        switch fault {
        case .feedURL: "the feed must be an https URL (http on loopback and onion services)"
        case .serviceURL: "the service must be an https URL (http on loopback and onion services)"
        case .feedKey: "the key must be an Ed25519 public key as 43 characters of base64url"
        case .serviceMissing: "this needs a service"
        case .otherFeed: "this profile belongs to another feed"
        case .dailyByteBudget: "a day's budget is 262144 bytes at least"
        case .cacheCapacity: "the cache's size is a number of megabytes"
        case .proxy: "the proxy cannot be used, or an onion service needs one"
        case .libraryMissing(let package): "a library of the package \(package) cannot be loaded"
        }
    }

    static func hint(_ error: ClientError) -> String? {
        switch error {
        case .badSignature, .tooLarge:
            "a captive portal's page looks like this; try again elsewhere"
        case .fork: "compare fingerprints with others; evidence is in the state directory"
        case .state(.exposed): "chmod 700 the directory, chmod 600 the files, no symbolic links"
        case .configuration(.serviceMissing): "init --service URL names one"
        case .configuration(.libraryMissing(let package)): "apt-get install \(package)"
        case .notServed:
            "its operator has not configured this push service, or not this endpoint's host; "
                + "until then `reveille-client run` is woken by the event stream"
        case .stillRegistered: "reveille-client unregister, or forget --force"
        default: nil
        }
    }

    init(_ fault: SecretDirectory.Fault) {
        let message =
            switch fault {
            case .name: "a name is 1 to 64 letters, digits, dots, hyphens and underscores"
            case .size: "a secret has 16 to 1024 bytes"
            case .exists: "there is a secret of this name already"
            case .same(let name): "this is the same secret as \(name), and would match as one"
            case .missing: "there is no secret of this name"
            case .unusable: "the secrets cannot be read or written"
            }
        self.init(message, status: fault == .unusable ? .ioError : .failure)
    }
}
