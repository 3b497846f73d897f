import Foundation
import WakeCommand

/// What `GET /v1/broadcast` answers, as far as this program reads it.
struct BroadcastStatus: Decodable {
    let round: Int
    let running: Bool
    let complete: Bool
    let rows: Int
    let accepted: Int
    let gone: Int
    let deleted: Int
    let retried: Int
    let abandoned: Int
    let duplicates: Int
    let unsent: Int
    let unserved: Int
    /// Push services by word.
    let brakes: [String: Bool]
    let stopped: [String: String]
    /// How far it is, for the terminal.
    let line: String

    init(_ admin: AdminClient) throws(CommandFailure) {
        let answer = try admin.send("GET", "/v1/broadcast")
        guard answer.status == 200 else {
            throw CommandFailure("the service refused with status \(answer.status)")
        }
        do {
            self = try JSONDecoder().decode(Self.self, from: Data(answer.body))
        } catch {
            throw CommandFailure("the service's answer is not of this version")
        }
    }

    /// The line, and what it would not tell: that everything was refused up to now.
    var progress: String {
        accepted == 0 && retried >= 64 ? line + "  refused so far" : line
    }

    /// One line: what became of everybody.
    var summary: String {
        let counts = [
            (accepted, "accepted"), (gone, "gone"), (deleted, "forgotten for it"),
            (abandoned, "given up until the next broadcast"), (unsent, "not sent"),
            (duplicates, "sharing a push token with another"),
            (unserved, "of a push service without a gateway"),
        ]
        let told = counts.filter { $0.0 > 0 || $0.1 == "accepted" }
        return "pushes to \(rows) registrations: "
            + told.map { "\($0.0) \($0.1)" }.joined(separator: ", ")
    }

    /// What an operator has to look at.
    var alarms: [String] {
        let alarms = brakes.filter(\.value).keys.sorted().map { service in
            """
            \(service): more push tokens were called gone than can be believed; none was deleted
            hint: see that its credentials are of the app whose tokens are registered; \
            brake-permille in [broadcast] sets the share
            """
        }
        return stopped.keys.sorted().compactMap { stopped[$0] } + alarms
    }
}
