import WakeCommand
import WakeModel
import WakeServer

/// `reveille broadcast`: one wake-up to everyone.
enum BroadcastCommand {
    static let command = Command(
        "broadcast", "wake everyone now",
        options: [
            ConfigurationFile.option,
            .init("--force", "although the feed has nothing newer than the last broadcast"),
        ],
        examples: ["reveille broadcast", "reveille broadcast --force"],
        run: { (invocation) async throws(CommandFailure) in
            let configuration = try ConfigurationFile.load(invocation)
            return try send(configuration, force: invocation.flag("--force"))
        })

    static let notNewer = CommandFailure(
        "the feed has nothing newer than the last broadcast",
        hint: "publish first, or add --force")

    /// Asks the running service, and says what it did.
    static func send(
        _ configuration: Configuration, force: Bool
    ) throws(CommandFailure) -> ExitStatus {
        let admin = AdminClient(address: configuration.admin)
        let answer = try admin.send(
            "POST", "/v1/broadcast", body: force ? "{\"force\":true}" : "")
        switch answer.status {
        case 200:
            let counts = try ServiceNumbers(answer.body)
            Console().out(
                "broadcast of sequence \(counts["sequence"] ?? 0) "
                    + "to \(counts["streams"] ?? 0) event streams")
            return .success
        case 409: throw notNewer
        default:
            throw CommandFailure("the service refused with status \(answer.status)")
        }
    }
}

/// A flat JSON object of numbers, as the admin socket answers.
struct ServiceNumbers {
    private(set) var members: [(name: String, value: Int)] = []

    init(_ body: [UInt8]) throws(CommandFailure) {
        var members: [(name: String, value: Int)] = []
        do throws(JSONError) {
            var scanner = try JSONScanner(body)
            try scanner.document { (scanner) throws(JSONError) in
                try scanner.object { (scanner, name) throws(JSONError) in
                    let value = try scanner.integer()
                    members.append((String(decoding: name, as: UTF8.self), value))
                }
            }
        } catch {
            throw CommandFailure("the service's answer is not of this version")
        }
        self.members = members
    }

    subscript(name: String) -> Int? { members.first { $0.name == name }?.value }
}
