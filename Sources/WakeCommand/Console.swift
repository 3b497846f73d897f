private import CLinux
private import Glibc
private import WakeSystem

/// Standard output and standard error of a command.
package struct Console: Sendable {
    package init() {}

    /// Writes results to standard output.
    package func out(_ text: String, terminator: String = "\n") {
        say(Self.printable(text) + terminator, to: STDOUT_FILENO)
    }

    /// Without what a terminal obeys but newlines and tabs, whoever wrote it: names of files,
    /// answers of servers.
    /// - Parameter isLine: also without those.
    package static func printable(_ text: String, isLine: Bool = false) -> String {
        func isStruck(_ scalar: Unicode.Scalar) -> Bool {
            scalar.isCommand && (isLine || scalar != "\n" && scalar != "\t")
        }
        guard text.unicodeScalars.contains(where: isStruck) else { return text }
        return String(String.UnicodeScalarView(text.unicodeScalars.map { isStruck($0) ? "?" : $0 }))
    }

    /// - Returns: false when not all of it was taken: a full disk, a closed pipe.
    @discardableResult
    package func out(bytes: [UInt8]) -> Bool { write(bytes, to: STDOUT_FILENO) }

    /// The same for a reader that may let everything wait: gives up once `isOver` says so.
    package func out(bytes: [UInt8], unless isOver: () -> Bool) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            var wait = pollfd(fd: STDOUT_FILENO, events: Int16(POLLOUT), revents: 0)
            guard unsafe poll(&wait, 1, 200) > 0 else {
                if isOver() { return false }
                continue
            }
            // A pipe that takes anything takes as much without waiting (pipe(7), "PIPE_BUF").
            let piece = Array(rest.prefix(4096))
            guard write(piece, to: STDOUT_FILENO) else { return false }
            rest = rest.dropFirst(piece.count)
        }
        return true
    }

    /// Writes messages to standard error.
    /// - Parameter isFailure: the command ends with it.
    package func error(_ text: String, terminator: String = "\n", isFailure: Bool = false) {
        say(Self.printable(text) + terminator, to: STDERR_FILENO, isFailure: isFailure)
    }

    /// Lines of two columns, the second one two spaces behind the longest name.
    package static func columns(_ rows: [(String, String)]) -> [String] {
        let width = (rows.map(\.0.count).max() ?? 0) + 2
        return rows.map { $0 + String(repeating: " ", count: width - $0.count) + $1 }
    }

    /// True when standard error is a terminal: only then is progress drawn.
    package var showsProgress: Bool { isatty(STDERR_FILENO) == 1 }

    /// Clears a terminal.
    package func clear() { write("\u{1B}[H\u{1B}[2J", to: STDOUT_FILENO) }

    /// Draws one line of progress over the last one, cut to the width of the terminal.
    package func progress(_ text: String) {
        guard showsProgress else { return }
        // A line that fills the last column may wrap already.
        let width = Int(linux_terminal_columns(STDERR_FILENO)) - 1
        let line = Self.printable(text, isLine: true)
        write("\r\u{1B}[K" + (width > 0 ? line.prefix(width) : line[...]), to: STDERR_FILENO)
    }

    /// Removes the line of progress.
    package func endProgress() {
        guard showsProgress else { return }
        write("\r\u{1B}[K", to: STDERR_FILENO)
    }

    /// Reads standard input to its end.
    /// - Throws: a usage failure beyond `limit` bytes.
    package func input(limit: Int) throws(CommandFailure) -> [UInt8] {
        guard let bytes = Self.readAll(from: STDIN_FILENO, limit: limit) else {
            throw CommandFailure("standard input cannot be read")
        }
        if bytes.count <= limit { return bytes }
        throw .usage("standard input is longer than \(limit) bytes")
    }

    /// Reads to the end, or until there are more than `limit` bytes; nil when that fails.
    package static func readAll(from descriptor: Int32, limit: Int) -> [UInt8]? {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while bytes.count <= limit {
            let count = unsafe chunk.withUnsafeMutableBytes {
                unsafe Glibc.read(descriptor, $0.baseAddress, $0.count)
            }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { return nil }
            if count == 0 { break }
            bytes.append(contentsOf: chunk[..<count])
        }
        return bytes
    }

    /// Reads a file that the command line names; `-` is standard input.
    package func contents(
        of path: String, limit: Int, status: ExitStatus = .failure
    ) throws(CommandFailure) -> [UInt8] {
        if path == "-" { return try input(limit: limit) }
        return try mapError({ CommandFailure(path, $0, status) }) { () throws(FileError) in
            try Files.readGiven(path, limit: limit)
        }
    }

    /// The journal gets declared lines, as from the log.
    private func say(_ text: String, to descriptor: Int32, isFailure: Bool = false) {
        guard ServiceManager.hasJournal(at: descriptor) else { return write(text, to: descriptor) }
        write(
            JournalText.lines(text, program: Self.program, isFailure: isFailure), to: descriptor)
    }

    private static let program =
        CommandLine.arguments.first?.split(separator: "/").last.map(String.init) ?? ""

    private func write(_ text: String, to descriptor: Int32) {
        write(Array(text.utf8), to: descriptor)
    }

    @discardableResult
    private func write(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
        unsafe bytes.withUnsafeBytes { buffer in
            var written = 0
            while written < buffer.count {
                let rest = unsafe UnsafeRawBufferPointer(rebasing: buffer[written...])
                let count = unsafe Glibc.write(descriptor, rest.baseAddress, rest.count)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { return false }
                written += count
            }
            return true
        }
    }
}

/// What takes something from people is done on purpose only.
package enum Confirmation {
    package static let option = Command.Option("--yes", "do it without asking")

    /// Asks on a terminal; elsewhere the option must have been given.
    /// - Parameters:
    ///   - loss: what will be lost, as a sentence.
    package static func require(
        _ invocation: Invocation, _ loss: String
    ) throws(CommandFailure) {
        if invocation.flag(option.name) { return }
        guard isatty(STDIN_FILENO) == 1, isatty(STDERR_FILENO) == 1 else {
            throw CommandFailure("\(loss); nothing was done", hint: "add \(option.name) to do it")
        }
        Console().error("\(loss)\nType yes to do it: ", terminator: "")
        var lines = InputLines()
        guard lines.next() == Array("yes".utf8) else { throw CommandFailure("nothing was done") }
    }
}

/// The environment and the working directory of this process.
package enum Environment {
    /// The value of a variable; nil when it is not set, or empty.
    package static func value(_ name: String) -> String? {
        guard let value = unsafe getenv(name) else { return nil }
        let text = unsafe String(cString: value)
        return text.isEmpty ? nil : text
    }

    /// A path as given on the command line, independent of the working directory.
    package static func absolute(_ path: String) throws(CommandFailure) -> String {
        if path.hasPrefix("/") { return path }
        guard let here = unsafe getcwd(nil, 0) else {
            throw CommandFailure("the working directory is gone", status: .ioError)
        }
        defer { unsafe free(here) }
        let directory = unsafe String(cString: here)
        return path == "." ? directory : directory + "/" + path
    }
}
