import Glibc
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
        }) { () throws(SettingsFault) in
            try ConfigurationParser.parse(text, directory: directory)
        }
    }

    /// The same for a running service.
    static func reload(_ invocation: Invocation) throws(ReloadRefusal) -> Configuration {
        let (path, text, directory) = try mapError({
            ReloadRefusal(.file, $0.message + ($0.hint.map { "\nhint: \($0)" } ?? ""))
        }) { () throws(CommandFailure) in
            if let fault = fault(try locate(invocation)) { throw fault }
            return try read(invocation)
        }
        return try mapError({
            ReloadRefusal(.configuration, line: $0.line, "\(path): \($0.message)")
        }) { () throws(SettingsFault) in
            try ConfigurationParser.parse(text, directory: directory)
        }
    }

    private static func read(
        _ invocation: Invocation
    ) throws(CommandFailure) -> (path: String, text: String, directory: String) {
        let path = try locate(invocation)
        let bytes: [UInt8]
        do {
            bytes = try Files.readLinked(path, limit: byteLimit)
        } catch { throw failure(error, path) }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw CommandFailure(
                "\(path): not UTF-8", hint: "write it again as plain text in UTF-8",
                status: .configuration)
        }
        guard !SettingsFile.isEmpty(text) else {
            throw CommandFailure(
                "\(path): nothing is set in it",
                hint: "a power cut may have emptied it: bring it back from a copy; `reveille init` "
                    + "writes a first one in another directory", status: .configuration)
        }
        return (path, text, try Environment.absolute(Files.parent(of: path) ?? "."))
    }

    private static let byteLimit = 65_536

    private static func failure(_ error: FileError, _ path: String) -> CommandFailure {
        let isDirectory = (try? FileStatus(of: path).isDirectory) ?? false
        let (reason, hint) =
            switch error.number {
            case EINVAL where isDirectory, EISDIR:
                ("Is a directory", "name the file in it, such as \(path)/reveille.conf")
            case EINVAL: ("not a regular file", "name the file itself, or a link to it")
            case EFBIG:
                ("longer than \(byteLimit) bytes", "name the configuration, which is a short text")
            case ELOOP: (error.reason, "its links lead back to each other: name the file itself")
            case ENOENT: (error.reason, "`reveille init DIR` writes a first one")
            case EACCES, EPERM:
                (error.reason, "run as the service's user, such as `sudo -u reveille reveille …`")
            default: (error.reason, "see that its disk can be read")
            }
        return CommandFailure("\(path): \(reason)", hint: hint, status: .configuration)
    }

    /// The reason not to believe the file: users other than this one, root and the group of this
    /// process could have written it.
    static func fault(_ path: String) -> CommandFailure? {
        guard let path = try? Files.resolve(path), let status = try? FileStatus(of: path)
        else { return nil }
        let others: mode_t = status.group == getegid() ? 0o002 : 0o022
        let isOpen = status.mode & others != 0 && !(Files.overlooksGroup && status.isOpenToGroup)
        if isOpen {
            return CommandFailure(
                "\(path): others can change it", hint: "chmod go-w \(path)",
                status: .configuration)
        }
        return nil
    }

    /// A directory in which others could put another file or directory in place of a private one.
    static func fault(above path: String, isIncluded: Bool = false) -> CommandFailure? {
        let open = (try? Files.openParent(of: path, isIncluded: isIncluded)) ?? nil
        return open.map {
            CommandFailure(
                "\(path): other users can replace it", hint: "`chmod go-w \($0)`",
                status: .configuration)
        }
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
