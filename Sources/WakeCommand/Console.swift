private import Glibc

/// Standard output and standard error of a command.
package struct Console: Sendable {
    package init() {}

    /// Writes results to standard output.
    package func out(_ text: String, terminator: String = "\n") {
        write(text + terminator, to: STDOUT_FILENO)
    }

    /// - Returns: false when not all of it was taken: a full disk, a closed pipe.
    @discardableResult
    package func out(bytes: [UInt8]) -> Bool { write(bytes, to: STDOUT_FILENO) }

    /// Writes messages to standard error.
    package func error(_ text: String, terminator: String = "\n") {
        write(text + terminator, to: STDERR_FILENO)
    }

    /// True when standard error is a terminal: only then is progress drawn.
    package var showsProgress: Bool { isatty(STDERR_FILENO) == 1 }

    /// Draws one line of progress over the last one.
    package func progress(_ text: String) {
        guard showsProgress else { return }
        write("\r\u{1B}[K" + text, to: STDERR_FILENO)
    }

    /// Removes the line of progress.
    package func endProgress() {
        guard showsProgress else { return }
        write("\r\u{1B}[K", to: STDERR_FILENO)
    }

    /// Reads standard input to its end.
    /// - Throws: a usage failure beyond `limit` bytes.
    package func input(limit: Int) throws(CommandFailure) -> [UInt8] {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = unsafe chunk.withUnsafeMutableBytes { buffer in
                unsafe Glibc.read(STDIN_FILENO, buffer.baseAddress, buffer.count)
            }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw CommandFailure("standard input cannot be read") }
            if count == 0 { return bytes }
            guard bytes.count + count <= limit else {
                throw CommandFailure("standard input is longer than \(limit) bytes", status: .usage)
            }
            bytes.append(contentsOf: chunk[..<count])
        }
    }

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
