private import Glibc
import WakeFiles

/// One store per data directory, in this process and any other. Nothing is written for it; the
/// system takes it back when the process ends in whatever way. SQLite's own lock keeps other
/// programs out.
final class StoreLock {
    private let directory: OpenFile

    /// - Throws: `.locked` at once when somebody else has it.
    init(_ configuration: StoreConfiguration) throws(StoreOpenError) {
        try StoreOpenError.Part.dataDirectory.checkPrivate(at: configuration.dataDirectory)
        do throws(FileError) {
            directory = try OpenFile(
                configuration.dataDirectory, flags: O_RDONLY | O_DIRECTORY)
            try directory.lockExclusively()
        } catch {
            throw StoreOpenError(.dataDirectory, error)
        }
    }

    deinit {
        // By name: a child between fork and exec still shares the descriptor, and with it the lock.
        directory.unlock()
    }
}
