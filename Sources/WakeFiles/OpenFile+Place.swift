private import Glibc

extension OpenFile {
    /// Writes all bytes at `offset`; the file's own position stays (pwrite(2)). Once this returns,
    /// the bytes outlive the process, not the machine: that takes `synchronize()`.
    package func write(_ bytes: Span<UInt8>, at offset: Int) throws(FileError) {
        let failure: FileError? = unsafe bytes.withUnsafeBytes { buffer in
            var written = 0
            while written < buffer.count {
                let rest = unsafe UnsafeRawBufferPointer(rebasing: buffer[written...])
                let count = unsafe pwrite(
                    descriptor, rest.baseAddress, rest.count, offset + written)
                if count < 0, errno == EINTR { continue }
                guard count >= 0 else { return FileError(.write) }
                written += count
            }
            return nil
        }
        if let failure { throw failure }
    }
}
