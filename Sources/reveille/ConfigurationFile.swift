import WakeCommand
import WakeServer
import WakeSystem

/// Finds and reads the configuration file of a command.
enum ConfigurationFile {
    static let option = Command.Option(
        "--config", value: "FILE",
        "configuration file (default: $REVEILLE_CONFIG, else the first of ./reveille.conf, "
            + "/etc/reveille/reveille.conf, /var/lib/reveille/reveille.conf)")

    /// Where the file is looked for when nothing names it, in this order.
    private static let candidates = [
        "reveille.conf", "/etc/reveille/reveille.conf", "/var/lib/reveille/reveille.conf",
    ]

    static func load(_ invocation: Invocation) throws(CommandFailure) -> Configuration {
        let path = try locate(invocation)
        let bytes: [UInt8]
        do {
            bytes = try Files.readGiven(path, limit: 65_536)
        } catch {
            throw CommandFailure(
                "\(path): \(error.reason)", hint: "`reveille init DIR` writes a first one",
                status: .configuration)
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw CommandFailure("\(path): not UTF-8", status: .configuration)
        }
        let directory = try Environment.absolute(Files.parent(of: path) ?? ".")
        do {
            return try ConfigurationParser.parse(text, directory: directory)
        } catch {
            throw CommandFailure("\(path): \(error.message)", status: .configuration)
        }
    }

    private static func locate(_ invocation: Invocation) throws(CommandFailure) -> String {
        if let path = invocation.value(option.name) { return path }
        if let path = Environment.value("REVEILLE_CONFIG") { return path }
        guard let path = candidates.first(where: { Files.exists($0) }) else {
            throw CommandFailure(
                "no configuration: none of \(candidates.joined(separator: ", ")) can be seen",
                hint: "run as the service's user, name one with --config, or write a first one"
                    + " with `reveille init DIR`", status: .configuration)
        }
        return path
    }
}
