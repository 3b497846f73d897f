private import Glibc
package import WakeSystem

/// The file by which the bus activates a program for a message to its name (UnifiedPush D-Bus
/// 0.3.0, "D-Bus Service"; D-Bus Specification, "Message Bus Starting Services").
package struct ActivationFile: Sendable, Equatable {
    package let name: String
    /// The program and its arguments, the program by its absolute path.
    package let command: [String]
    /// A systemd unit of the user that is started instead, where there is systemd.
    package let unit: String?

    /// The first line of files that this program may replace and remove.
    private static let mark = "# Made by reveille-client; push off removes it.\n"
    private static let limit = 65_536

    package init(name: String, command: [String], unit: String? = nil) {
        self.name = name
        self.command = command
        self.unit = unit
    }

    /// The path below `$XDG_DATA_HOME` (dbus-daemon(1), "standard_session_servicedirs").
    package static func path(for name: String, data: String) -> String {
        data + "/dbus-1/services/" + name + ".service"
    }

    /// The content; nil with a control character, which the format cannot express.
    package var text: [UInt8]? {
        let isPlain = (command + [unit ?? ""]).allSatisfy { argument in
            argument.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
        }
        guard isPlain, !command.isEmpty else { return nil }
        // Twice: the line is split as by a shell (dbus-shell.c), after its backslashes were
        // resolved (dbus/desktop-file.c, `unescape_string`).
        let exec = command.map(Self.quoted).joined(separator: " ")
            .flatMap { $0 == "\\" ? "\\\\" : String($0) }
        var text = Self.mark + "[D-BUS Service]\nName=\(name)\nExec=\(String(exec))\n"
        if let unit { text += "SystemdService=\(unit)\n" }
        return Array(text.utf8)
    }

    /// Single quotes: only the quote itself needs escaping.
    private static func quoted(_ word: String) -> String {
        "'\(word.replacing("'", with: "'\\''"))'"
    }

    /// Writes the file; throws `EEXIST` when another program's file is there.
    package func write(to path: String) throws(FileError) {
        guard let text else { throw FileError(.write, EINVAL) }
        guard Self.isOwn(path) ?? true else { throw FileError(.open, EEXIST) }
        if let folder = Files.parent(of: path), !Files.exists(folder) {
            try Files.makeDirectory(folder, mode: 0o755)
        }
        // The bus runs as the same user.
        try Files.replace(path, with: text.span, mode: 0o600)
    }

    /// Removes the file if this program wrote it.
    package static func remove(_ path: String) throws(FileError) {
        if isOwn(path) == true { try Files.remove(path) }
    }

    /// Whether this program wrote the file; nil without a file.
    package static func isOwn(_ path: String) -> Bool? {
        guard Files.exists(path) else { return nil }
        guard let bytes = try? Files.read(path, limit: limit) else { return false }
        return bytes.starts(with: mark.utf8)
    }
}
