private import Glibc

/// The lines of a descriptor, which may be a terminal, a pipe or a file. Not by stdio: a thread
/// that waits for a line would hold the stream's lock, for which exit(3) waits (glibc 2.41).
package struct InputLines {
    private let descriptor: Int32
    private let limit: Int
    /// Read, and not returned yet.
    private var rest: ArraySlice<UInt8> = []
    private var hasEnded = false

    /// - Parameter limit: bytes of a line; what a longer one has more is dropped.
    package init(_ descriptor: Int32 = STDIN_FILENO, limit: Int = 65_536) {
        self.descriptor = descriptor
        self.limit = limit
    }

    /// Waits for a line, and returns it without LF or CR LF; nil at the end, and after a fault.
    package mutating func next() -> [UInt8]? {
        var line: ArraySlice<UInt8> = []
        while true {
            let end = rest.firstIndex(of: UInt8(ascii: "\n"))
            line += rest[..<(end ?? rest.endIndex)].prefix(limit - line.count)
            rest = end.map { rest[($0 + 1)...] } ?? []
            if end != nil || (hasEnded && !line.isEmpty) {
                return Array(line.last == UInt8(ascii: "\r") ? line.dropLast() : line)
            }
            guard !hasEnded else { return nil }
            rest = read()[...]
            hasEnded = rest.isEmpty
        }
    }

    /// What is there, once something is; empty at the end.
    private func read() -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = unsafe Glibc.read(descriptor, &buffer, buffer.count)
            if count >= 0 { return Array(buffer[..<count]) }
            switch errno {
            case EINTR: continue
            case EAGAIN:
                // Another program made the terminal or pipe, which is shared, non-blocking.
                var wait = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
                _ = unsafe poll(&wait, 1, -1)
            default: return []
            }
        }
    }
}
