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
        var reason = state.failure.map { ": \(CommandFailure($0).message)" } ?? ""
        switch state.failure {
        case .notServed?, .gatewayKey?, .relay?:
            let hint = state.failure.flatMap { CommandFailure($0).hint }
            reason += hint.map { "\nhint: " + $0 } ?? ""
        default: break
        }
        return switch state {
        case .none: "nothing is registered"
        case .registered: "registered"
        case .registering(.notServed?): "not registered\(reason)"
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
    static func waiting(_ batches: Int, until time: Date) -> String {
        let count = batches == 1 ? "1 batch waits" : "\(batches) batches wait"
        return "\(count) until \(time.minuteText): the day's bytes are used up"
    }

    static func cutStreams(after seconds: Int) -> String {
        "a proxy on the way ends each stream after \(seconds) s; wakes come late, polling works"
    }

    static func code(_ error: ClientError?) -> String { error.map { "\"\($0.code)\"" } ?? "null" }

    static func distributor(_ trouble: Warning.DistributorTrouble) -> String {
        trouble == .vapidRequired
            ? "the distributor wants the service's key, see push use --vapid" : trouble.phrase
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
        let (status, hint): (ExitStatus, String?) =
            switch error {
            case .network, .tls, .truncated, .rollback, .locked, .metered, .cancelled:
                (.transient, nil)
            case .httpStatus(404, _):
                (
                    answered,
                    "is the feed below /feed/? in client.conf, feed is the directory with the "
                        + "feed's head, and service has no path"
                )
            case .httpStatus, .source: (answered, nil)
            case .tooLarge, .badSignature: (.badData, portal)
            case .protocolViolation:
                (
                    .badData,
                    "does a proxy on the way compress or change answers? the feed must not be"
                )
            case .wrongFeed, .corruptBatch: (.badData, nil)
            case .unwitnessed(.otherHistory):
                (.badData, "the proof is in the state directory: show it to others")
            case .unwitnessed:
                (.transient, "asked again; if it lasts, ask the publisher who cosigns the feed")
            case .fork:
                (
                    .badData,
                    "compare the fingerprint that status shows with others; evidence is in the "
                        + "state directory; then start-over, or forget"
                )
            // Permissions are corrected by the user, as a configuration is.
            case .state(.exposed):
                (
                    .configuration,
                    "chmod 700 the directory, chmod 600 the files, no symbolic links"
                )
            case .state, .diskFull, .secrets: (.ioError, nil)
            case .configuration(let fault): (.configuration, Self.hint(fault))
            case .gatewayKey:
                (
                    .transient,
                    "the service's operator has the feed name the key of the gateway that the "
                        + "relay leads to: `reveille feed refresh`"
                )
            case .relay(300...399, _):
                (.badData, "it redirects; write the URL that it leads to into client.conf")
            case .relay:
                (
                    answered,
                    error.isTransient
                        ? "the relay is busy, or does not reach the service's gateway"
                        : "is oblivious in client.conf the URL of a relay, and does it lead to "
                            + "this service?"
                )
            case .notRegistered: (.failure, nil)
            case .notServed:
                (
                    .configuration,
                    "its operator has not configured this push service, or not this endpoint's "
                        + "host; until then `reveille-client run` is woken by the event stream"
                )
            case .stillRegistered: (.failure, "reveille-client unregister, or forget --force")
            }
        self.init(error.phrase, hint: hint, status: status)
    }

    private static func hint(_ fault: ClientError.ConfigurationFault) -> String? {
        switch fault {
        case .serviceMissing: "init --service URL names one"
        case .libraryMissing(let package): "apt-get install \(package)"
        default: nil
        }
    }

    init(_ fault: SecretDirectory.Fault) {
        self.init(fault.phrase, status: fault == .unusable ? .ioError : .failure)
    }
}
