import WakeCommand
import WakeServer
import WakeSystem

/// `reveille keygen`: the keys that need no account anywhere.
enum KeygenCommand {
    private static let kinds = GatewayKey.allCases.map(\.rawValue).joined(separator: " or ")

    static let command = Command(
        "keygen", "make a key in a new file and show its public half",
        operands: [.init("FILE", "where the key goes, mode 0600; nothing is overwritten")],
        options: [
            .init(
                "--kind", value: "KIND",
                "\(kinds): for Web Push, for a relay, a token for an admin listener on TCP, or "
                    + "for a gateway of Oblivious HTTP",
                completion: .choice(GatewayKey.allCases.map(\.rawValue)))
        ],
        examples: [
            "reveille keygen --kind vapid keys/vapid.key",
            "reveille keygen --kind relay keys/relay.key",
            "reveille keygen --kind ohttp keys/oblivious.key",
        ],
        run: { (invocation) async throws(CommandFailure) in try run(invocation) })

    private static func run(_ invocation: Invocation) throws(CommandFailure) -> ExitStatus {
        guard let kind = GatewayKey(rawValue: try invocation.required("--kind")) else {
            throw .usage("--kind takes \(kinds)")
        }
        let path = try Environment.absolute(invocation.operands[0])
        let publicKey = try mapError({ failure($0, path) }, try kind.create(path))
        Console().out(publicKey)
        return .success
    }

    /// The file is named: the key has no section of a configuration yet.
    private static func failure(_ error: SetupError, _ path: String) -> CommandFailure {
        CommandFailure(
            lines: "\(path): \(error.message.trimmingPrefix("[webpush] key: "))",
            status: error.isOptional ? .configuration : .failure)
    }
}
