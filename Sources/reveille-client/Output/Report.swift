import Foundation
import Reveille
import WakeCommand

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

    static func sentence(_ state: RegistrationState) -> String {
        let reason = state.failure.map { ": \(CommandFailure($0).message)" } ?? ""
        return switch state {
        case .none: "nothing is registered"
        case .registered: "registered"
        case .registering(.notServed?):
            "not registered\(reason)\nhint: \(CommandFailure(.notServed).hint ?? "")"
        case .registering: "registering, run and sync keep trying\(reason)"
        case .proving:
            "registering: many do so now, so this computer works on a proof for some seconds"
        case .unregistering: "unregistering, run and sync keep trying\(reason)"
        case .suspended: "registered once the publisher allows it again"
        }
    }

    /// Services of earlier configurations that have not acknowledged an erasure yet.
    static func former(_ count: Int) -> String {
        (count == 1 ? "a service" : "\(count) services")
            + " used before may still hold a registration; run and sync keep trying to erase it, "
            + "and it expires after two generations of that service, 14 days unless its operator "
            + "chose more"
    }

    /// Members of a JSON object, without braces.
    static func registration(_ state: RegistrationState) -> String {
        "\"registration\":\"\(state.name)\",\"failure\":\(code(state.failure))"
    }

    /// Batches that wait for another day's budget; `time` is the midnight that ends this one.
    static func waiting(_ batches: Int, until time: Int64) -> String {
        let count = batches == 1 ? "1 batch waits" : "\(batches) batches wait"
        return "\(count) until \(date(time)) UTC: the day's bytes are used up"
    }

    /// The day that begins then in UTC, as YYYY-MM-DD 00:00.
    private static func date(_ time: Int64) -> String {
        Date(timeIntervalSince1970: Double(time)).formatted(.iso8601.year().month().day())
            + " 00:00"
    }

    /// A time in UTC, to the minute.
    static func time(_ time: Int64) -> String {
        Date(timeIntervalSince1970: Double(time)).formatted(
            .iso8601.year().month().day().dateTimeSeparator(.space).time(
                includingFractionalSeconds: false)
        ).prefix(16) + " UTC"
    }

    /// Numbers of batches.
    static func batches(_ first: UInt64, _ last: UInt64) -> String {
        first == last ? "batch \(first)" : "batches \(first) to \(last)"
    }

    static func code(_ error: ClientError?) -> String { error.map { "\"\($0.code)\"" } ?? "null" }

    static func warning(_ warning: Warning) -> String {
        switch warning {
        case .silence(let days): "no news of the feed for \(days) days"
        case .notChecked(0, _, let since):
            "the app's data did not come to its end since \(time(since))"
        case .notChecked(let first, let last, let since):
            "the feed names \(batches(first, last)), and not all of that could be checked since "
                + "\(time(since)): it does not come, or not as it was signed"
        case .secretsUnreadable: "the secrets cannot be read: nothing is checked until they can be"
        case .unusableSecrets(let count):
            "\(count) secrets do not have 16 to 1024 bytes: nothing is checked for them"
        case .lostBatches(let first, let last):
            "the cache has lost \(batches(first, last)): a secret that was added cannot be checked "
                + "against that any more, secrets of before were"
        case .fork(let sequence):
            "two different batches \(sequence) exist; nothing newer is checked"
        case .gap(let first, let last):
            "\(batches(first, last)) can never be checked: it was missed, or did not come in time"
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

/// Runs `body`; what the client library throws becomes a failure of the command.
func mapClientError<Result>(
    _ body: () async throws(ClientError) -> Result
) async throws(CommandFailure) -> Result {
    do throws(ClientError) {
        return try await body()
    } catch {
        throw CommandFailure(error)
    }
}

extension CommandFailure {
    /// The one place where failures of the client library become messages and exit statuses.
    init(_ error: ClientError) {
        let answered: ExitStatus = error.isTransient ? .transient : .badData
        let portal = "a captive portal's page looks like this; try again elsewhere"
        let (message, status, hint): (String, ExitStatus, String?) =
            switch error {
            case .network: ("the server cannot be reached", .transient, nil)
            case .tls: ("the server's certificate cannot be verified", .transient, nil)
            case .httpStatus(let number, _): ("the server answered \(number)", answered, nil)
            case .truncated: ("the answer broke off; it is continued next time", .transient, nil)
            case .tooLarge: ("the answer is larger than any feed's", .badData, portal)
            case .badSignature: ("what came is not signed with this feed's key", .badData, portal)
            case .wrongFeed: ("what came belongs to another feed", .badData, nil)
            case .rollback: ("the feed is older than one seen before", .transient, nil)
            case .fork:
                (
                    "this feed shows different people different things", .badData,
                    "compare the fingerprint that status shows with others; evidence is in the "
                        + "state directory; then start-over, or forget"
                )
            case .corruptBatch: ("a batch is damaged, also when fetched afresh", .badData, nil)
            case .state(.newerVersion):
                ("the state was written by a newer version of this program", .ioError, nil)
            // Permissions are corrected by the user, as a configuration is.
            case .state(.exposed):
                (
                    "the state directory or a file in it is open to others", .configuration,
                    "chmod 700 the directory, chmod 600 the files, no symbolic links"
                )
            case .state(.unusable): ("the state cannot be read or written", .ioError, nil)
            case .locked: ("another process works with this profile", .transient, nil)
            case .diskFull: ("there is no room for the state", .ioError, nil)
            case .configuration(let fault): (Self.message(fault), .configuration, Self.hint(fault))
            case .protocolViolation: ("the server does not follow the protocol", .badData, nil)
            case .gatewayKey:
                (
                    "the key for hidden registrations is not the one that the feed names",
                    .transient, "nothing was sent; the service's operator can say which is right"
                )
            case .notRegistered: ("nothing is registered", .failure, nil)
            case .notServed:
                (
                    "the service sends nothing to such a push token", .configuration,
                    "its operator has not configured this push service, or not this endpoint's "
                        + "host; until then `reveille-client run` is woken by the event stream"
                )
            case .stillRegistered:
                (
                    "the service may still hold a registration", .failure,
                    "reveille-client unregister, or forget --force"
                )
            case .secrets: ("the secrets cannot be read", .ioError, nil)
            case .source: ("the app's own source failed", answered, nil)
            case .cancelled: ("interrupted", .transient, nil)
            }
        self.init(message, hint: hint, status: status)
    }

    private static func message(_ fault: ClientError.ConfigurationFault) -> String {
        switch fault {
        case .feedURL: "the feed must be an https URL (http on loopback and onion services)"
        case .serviceURL: "the service must be an https URL (http on loopback and onion services)"
        case .obliviousURL: "the relay must be an https URL, and needs a service behind it"
        case .feedKey: "the key must be an Ed25519 public key as 43 characters of base64url"
        case .serviceMissing: "this needs a service"
        case .otherFeed: "this profile belongs to another feed"
        case .dailyByteBudget: "a day's budget is 262144 bytes at least"
        case .cacheCapacity: "the cache's size is a number of megabytes"
        case .proxy: "the proxy cannot be used, or an onion service needs one"
        case .libraryMissing(let package): "a library of the package \(package) cannot be loaded"
        }
    }

    private static func hint(_ fault: ClientError.ConfigurationFault) -> String? {
        switch fault {
        case .serviceMissing: "init --service URL names one"
        case .libraryMissing(let package): "apt-get install \(package)"
        default: nil
        }
    }

    init(_ fault: SecretDirectory.Fault) {
        let message =
            switch fault {
            case .name: "a name is 1 to 64 letters, digits, dots, hyphens and underscores"
            case .size: "a secret has 16 to 1024 bytes"
            case .exists: "there is another secret of this name already"
            case .same(let name): "this is the same secret as \(name), and would match as one"
            case .missing: "there is no secret of this name"
            case .unusable: "the secrets cannot be read or written"
            }
        self.init(message, status: fault == .unusable ? .ioError : .failure)
    }
}
