private import Glibc
package import WakeFiles

/// The file by which the bus starts a program for a message to its name: "The application must
/// provide a DBus service file" (UnifiedPush D-Bus 0.3.0, "D-Bus Service"; D-Bus Specification,
/// "Message Bus Starting Services"). Some distributors forget a program that has none.
package struct ActivationFile: Sendable, Equatable {
    /// Of the program that is started.
    package let name: String
    /// The program and its arguments, the program by its absolute path.
    package let words: [String]
    /// A systemd unit of the user that is started instead, where there is systemd.
    package let unit: String?

    /// What shows that a file is ours to replace and to remove.
    private static let mark = "# Made by reveille-client; push off removes it.\n"
    private static let limit = 65_536

    package init(name: String, words: [String], unit: String? = nil) {
        self.name = name
        self.words = words
        self.unit = unit
    }

    /// Where the file belongs below `$XDG_DATA_HOME` (dbus-daemon(1),
    /// "standard_session_servicedirs"); it is named after the name it is for.
    package static func path(for name: String, data: String) -> String {
        data + "/dbus-1/services/" + name + ".service"
    }

    /// - Returns: nil when a word or the unit has a control character, for which the format has no
    ///   place.
    package var text: [UInt8]? {
        let isPlain = (words + [unit ?? ""]).allSatisfy { word in
            word.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
        }
        guard isPlain, !words.isEmpty else { return nil }
        // Twice: the line is split as a shell does (dbus-shell.c), after its backslashes were
        // resolved as in any desktop entry (dbus/desktop-file.c, `unescape_string`).
        let exec = words.map(Self.quoted).joined(separator: " ")
            .flatMap { $0 == "\\" ? "\\\\" : String($0) }
        var text = Self.mark + "[D-BUS Service]\nName=\(name)\nExec=\(String(exec))\n"
        if let unit { text += "SystemdService=\(unit)\n" }
        return Array(text.utf8)
    }

    /// In single quotes nothing has a meaning but the quote.
    private static func quoted(_ word: String) -> String {
        "'"
            + word.split(separator: "'", omittingEmptySubsequences: false)
            .joined(separator: "'\\''") + "'"
    }

    /// Writes the file, unless one that is not ours is there.
    /// - Throws: `EEXIST` then.
    package func write(to path: String) throws(FileError) {
        guard let text else { throw FileError(.write, EINVAL) }
        guard Self.isOurs(path) ?? true else { throw FileError(.open, EEXIST) }
        if let folder = Files.parent(of: path), !Files.exists(folder) {
            try Files.makeDirectory(folder, mode: 0o755)
        }
        // The bus runs as the same user.
        try Files.replace(path, with: text.span, mode: 0o600)
    }

    /// Removes the file if it is ours.
    package static func remove(_ path: String) throws(FileError) {
        if isOurs(path) == true { try Files.remove(path) }
    }

    /// - Returns: nil when there is none.
    package static func isOurs(_ path: String) -> Bool? {
        guard Files.exists(path) else { return nil }
        guard let bytes = try? Files.read(path, limit: limit) else { return false }
        return bytes.starts(with: mark.utf8)
    }
}
