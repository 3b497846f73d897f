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
        guard let failure = state.failure else { return state.phrase }
        let sentence = "\(state.phrase): \(failure.phrase)"
        switch failure {
        case .notServed, .gatewayKey, .relay:
            return sentence + (failure.hint.map { "\nhint: " + $0 } ?? "")
        default: return sentence
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

    /// With one digit, as in `2.1 s`.
    static func seconds(_ seconds: Double) -> String {
        let tenths = Int((seconds * 10).rounded())
        return "\(tenths / 10).\(tenths % 10) s"
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
    /// Messages, hints and exit statuses are in the library's table.
    init(_ error: ClientError) {
        self.init(
            error.phrase, hint: error.hint,
            status: ExitStatus(rawValue: error.exitStatus) ?? .failure)
    }

    init(_ fault: SecretDirectory.Fault) {
        let status: ExitStatus =
            switch fault {
            case .unusable: .ioError
            case .name: .usage
            case .size, .exists, .same, .missing: .failure
            }
        self.init(fault.phrase, status: status)
    }
}
