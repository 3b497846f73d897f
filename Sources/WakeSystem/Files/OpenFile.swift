private import CLinux
private import Glibc

package final class OpenFile: Sendable {
    package let descriptor: Int32

    /// - Parameter flags: of open(2); `O_CLOEXEC` is added. A link is only followed on request.
    package init(
        _ path: String, flags: Int32, mode: UInt32 = 0o600, followsLink: Bool = false
    ) throws(FileError) {
        // A FIFO in a file's place would wait for its other end (open(2)).
        let link = followsLink ? 0 : O_NOFOLLOW | O_NONBLOCK
        let descriptor = unsafe Glibc.open(path, flags | O_CLOEXEC | link, mode)
        guard descriptor >= 0 else { throw FileError(.open) }
        self.descriptor = descriptor
    }

    deinit { close(descriptor) }

    package func status() throws(FileError) -> FileStatus {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { throw FileError(.status) }
        return FileStatus(status)
    }

    /// Reads up to `count` bytes at `offset`; fewer at the end of the file only.
    package func read(at offset: Int, count: Int) throws(FileError) -> [UInt8] {
        var failure: FileError?
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            while filled < count {
                let rest = unsafe UnsafeMutableBufferPointer(rebasing: buffer[filled...])
                let got = unsafe pread(descriptor, rest.baseAddress, rest.count, offset + filled)
                if got < 0, errno == EINTR { continue }
                if got < 0 { failure = FileError(.read) }
                guard got > 0 else { return }
                filled += got
            }
        }
        if let failure { throw failure }
        return bytes
    }

    /// Reads to the end, or until `limit` bytes are exceeded; works on pipes.
    package func readToEnd(limit: Int) throws(FileError) -> [UInt8] {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while bytes.count <= limit {
            let got = unsafe chunk.withUnsafeMutableBytes { buffer in
                unsafe Glibc.read(descriptor, buffer.baseAddress, buffer.count)
            }
            if got < 0, errno == EINTR { continue }
            guard got >= 0 else { throw FileError(.read) }
            if got == 0 { break }
            bytes.append(contentsOf: chunk[..<got])
        }
        return bytes
    }

    /// Bytes written by one call. The kernel may keep what a call wrote in one piece of memory, and
    /// goes through the whole of that at each later write into it: a byte in two megabytes then
    /// costs ten times as much as in these.
    private static let pieceBytes = 1 << 16

    /// Writes all bytes at `offset`, or at the file's own position (pwrite(2)); not yet durable.
    package func write(_ bytes: Span<UInt8>, at offset: Int? = nil) throws(FileError) {
        let failure: FileError? = unsafe bytes.withUnsafeBytes { buffer in
            var written = 0
            while written < buffer.count {
                let piece = written..<Swift.min(buffer.count, written + Self.pieceBytes)
                let rest = unsafe UnsafeRawBufferPointer(rebasing: buffer[piece])
                let count: Int
                if let offset {
                    count = unsafe pwrite(
                        descriptor, rest.baseAddress, rest.count, offset + written)
                } else {
                    count = unsafe Glibc.write(descriptor, rest.baseAddress, rest.count)
                }
                if count < 0, errno == EINTR { continue }
                guard count >= 0 else { return FileError(.write) }
                written += count
            }
            return nil
        }
        if let failure { throw failure }
    }

    /// fsync(2). A failure is final: the kernel may have dropped the pages, never retry.
    package func synchronize() throws(FileError) {
        guard fsync(descriptor) == 0 else { throw FileError(.sync) }
    }

    /// Takes an exclusive lock that lives as long as this object (flock(2)).
    package func lockExclusively(waiting: Bool = false) throws(FileError) {
        while flock(descriptor, waiting ? LOCK_EX : LOCK_EX | LOCK_NB) != 0 {
            guard errno == EINTR else { throw FileError(.lock) }
        }
    }

    /// Gives the lock back even while a duplicate of the descriptor is open somewhere.
    package func unlock() { flock(descriptor, LOCK_UN) }
}
