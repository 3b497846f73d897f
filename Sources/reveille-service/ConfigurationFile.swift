import WakeCommand
import WakeModel
import WakeServer
import WakeSystem

extension Command.Option {
    static let json = Command.Option("--json", "as one JSON object")
}

extension Console {
    /// Writes one JSON object on a line of its own.
    func json(_ members: (inout JSONText) -> Void) {
        var text = JSONText()
        text.beginObject()
        members(&text)
        text.endObject()
        out(bytes: text.bytes + [0x0A])
    }
}

/// Finds and reads the configuration file of a command.
enum ConfigurationFile {
    static let option = Command.Option(
        "--config", value: "FILE",
        "configuration file (default: $REVEILLE_CONFIG, else the first of ./reveille.conf, "
            + "/etc/reveille/reveille.conf, /var/lib/reveille/reveille.conf)")

    /// Where the file is looked for when nothing names it, in this order.
    static let candidates = [
        "./reveille.conf", "/etc/reveille/reveille.conf", "/var/lib/reveille/reveille.conf",
    ]

    static func load(_ invocation: Invocation) throws(CommandFailure) -> Configuration {
        let (path, text, directory) = try read(invocation)
        return try mapError({
            CommandFailure("\(path): \($0.message)", status: .configuration)
        }) { () throws(ConfigurationError) in
            try ConfigurationParser.parse(text, directory: directory)
        }
    }

    /// The same for a running service.
    static func reload(_ invocation: Invocation) throws(ReloadRefusal) -> Configuration {
        let (path, text, directory) = try mapError({
            ReloadRefusal(.file, $0.message + ($0.hint.map { "\nhint: \($0)" } ?? ""))
        }) { () throws(CommandFailure) in try read(invocation) }
        return try mapError({
            ReloadRefusal(.configuration, line: $0.line, "\(path): \($0.message)")
        }) { () throws(ConfigurationError) in
            try ConfigurationParser.parse(text, directory: directory)
        }
    }

    private static func read(
        _ invocation: Invocation
    ) throws(CommandFailure) -> (path: String, text: String, directory: String) {
        let path = try locate(invocation)
        let bytes: [UInt8]
        do {
            bytes = try Files.readGiven(path, limit: 65_536)
        } catch {
            let isDirectory = (try? FileStatus(of: path).isDirectory) ?? false
            let hint =
                isDirectory
                ? "name the file in it, such as \(path)/reveille.conf"
                : error.isMissing
                    ? "`reveille init DIR` writes a first one"
                    : "run as the service's user, such as `sudo -u reveille reveille …`"
            throw CommandFailure("\(path): \(error.reason)", hint: hint, status: .configuration)
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw CommandFailure("\(path): not UTF-8", status: .configuration)
        }
        return (path, text, try Environment.absolute(Files.parent(of: path) ?? "."))
    }

    /// The path of the file, by the rule of `option`.
    static func locate(_ invocation: Invocation) throws(CommandFailure) -> String {
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
