private import Glibc

/// A file's bytes, mapped for reading (mmap(2)).
///
/// Only for files that are replaced by rename and never cut short in place: reading a page that
/// went away ends the process (SIGBUS).
package final class MappedFile: Sendable {
    /// The address as a number: pointers are not `Sendable`, and the mapping is read-only.
    private let address: UInt
    package let count: Int

    /// - Parameter limit: bytes; a larger file is refused with `EFBIG`.
    package init(_ path: String, limit: Int) throws(FileError) {
        let file = try OpenFile(path, flags: O_RDONLY)
        let status = try file.status()
        guard status.isRegular else { throw FileError(.open, EINVAL) }
        guard status.size <= limit else { throw FileError(.read, EFBIG) }
        count = status.size
        guard count > 0 else {
            // mmap(2): a length of 0 is an error.
            address = 0
            return
        }
        let memory = unsafe mmap(nil, count, PROT_READ, MAP_PRIVATE, file.descriptor, 0)
        guard let memory = unsafe memory, unsafe memory != MAP_FAILED else {
            throw FileError(.read)
        }
        address = UInt(bitPattern: memory)
    }

    deinit {
        if let memory = unsafe UnsafeMutableRawPointer(bitPattern: address) {
            unsafe munmap(memory, count)
        }
    }

    /// Lends the bytes for the length of one call.
    package func withSpan<Result, Failure: Error>(
        _ body: (Span<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let start = unsafe UnsafePointer<UInt8>(bitPattern: address)
        let buffer = unsafe UnsafeBufferPointer(start: start, count: count)
        return try unsafe body(Span(_unsafeElements: buffer))
    }
}
