import WakeCommand
import WakeServer

/// `reveille keygen`: the keys that need no account anywhere.
enum KeygenCommand {
    private static let kinds = GatewayKey.allCases.map(\.rawValue).joined(separator: " or ")

    static let command = Command(
        "keygen", "make a key in a new file and show its public half",
        operands: [.init("FILE", "where the key goes, mode 0600; nothing is overwritten")],
        options: [
            .init(
                "--kind", value: "KIND", "\(kinds): for Web Push, or for a relay",
                completion: .choice(GatewayKey.allCases.map(\.rawValue)))
        ],
        examples: [
            "reveille keygen --kind vapid keys/vapid.key",
            "reveille keygen --kind relay keys/relay.key",
        ],
        run: { (invocation) async throws(CommandFailure) in try run(invocation) })

    private static func run(_ invocation: Invocation) throws(CommandFailure) -> ExitStatus {
        guard let kind = GatewayKey(rawValue: try invocation.required("--kind")) else {
            throw CommandFailure("--kind takes \(kinds)", status: .usage)
        }
        let path = AbsolutePath.of(invocation.operands[0])
        do throws(GatewayError) {
            Console().out(try kind.create(path))
        } catch {
            throw failure(error, path)
        }
        return .success
    }

    /// The file is named: the key has no section of a configuration yet.
    private static func failure(_ error: GatewayError, _ path: String) -> CommandFailure {
        let lines = error.message.split(separator: "\n", maxSplits: 1)
        let prefix = "[webpush] key: "
        let problem = lines[0].hasPrefix(prefix) ? lines[0].dropFirst(prefix.count) : lines[0]
        let hint = lines.count > 1 ? lines[1].dropFirst("hint: ".count) : nil
        return CommandFailure(
            "\(path): \(problem)", hint: hint.map(String.init),
            status: error.isOptional ? .configuration : .failure)
    }
}
