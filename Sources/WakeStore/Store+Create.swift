private import Glibc
import WakeSystem

extension Store {
    /// Makes a new store: the data directory (0700) with the empty files of two generations,
    /// and the key file (0600). Overwrites nothing; a failure removes what it made.
    package static func create(_ configuration: StoreConfiguration) throws(StoreOpenError) {
        let directory = configuration.dataDirectory
        if let file = configuration.keyFile, Files.exists(file) { throw .exists(.keyFile) }
        if let files = try? StoreFiles.databases(configuration), !files.isEmpty {
            throw .exists(.database)
        }
        try mapError(
            { StoreOpenError(.dataDirectory, $0) }, Files.makeDirectory(directory, mode: 0o700))
        // Two processes at once would each find nothing: the lock decides.
        let lock = try StoreLock(configuration)
        try withExtendedLifetime(lock) { () throws(StoreOpenError) in
            try checkEmpty(directory)
            try makeKeyDirectory(configuration)
            try KeyFile.checkDirectory(configuration)
            do throws(StoreOpenError) {
                let keys = KeyFile.random()
                for generation in keys.generations {
                    try StoreFiles.makeEmpty(configuration.file(of: generation), nil)
                }
                try keys.create(configuration)
            } catch {
                remove(configuration, after: error)
                throw error
            }
        }
    }

    /// Removes what a `create` has made, perhaps not all of it, and nobody has opened since.
    /// - Throws: `.exists` for a store that was opened: other files lie beside the database.
    package static func removeUnused(_ configuration: StoreConfiguration) throws(StoreOpenError) {
        let directory = configuration.dataDirectory
        if Files.exists(directory) {
            let lock = try StoreLock(configuration)
            try withExtendedLifetime(lock) { () throws(StoreOpenError) in
                try removeDatabase(configuration)
            }
        }
        guard let file = configuration.keyFile else { return }
        try mapError({ StoreOpenError(.keyFile, $0) }, Files.remove(file))
    }

    private static func removeDatabase(
        _ configuration: StoreConfiguration
    ) throws(StoreOpenError) {
        try mapError({ StoreOpenError(.database, $0) }) { () throws(FileError) in
            guard try StoreFiles.holdsOnlyFirst(configuration)
            else { throw FileError(.remove, EEXIST) }
            for generation in 0...1 {
                try StoreFiles.remove(configuration, generation: UInt64(generation))
            }
        }
    }

    private static func checkEmpty(_ directory: String) throws(StoreOpenError) {
        try mapError({ StoreOpenError(.dataDirectory, $0) }) { () throws(FileError) in
            guard try Files.names(in: directory).isEmpty else { throw FileError(.open, EEXIST) }
        }
    }

    /// The directory was empty and is locked, so what is in it now is ours.
    private static func remove(_ configuration: StoreConfiguration, after error: StoreOpenError) {
        for generation in 0...1 {
            try? StoreFiles.remove(configuration, generation: UInt64(generation))
        }
        if error != .exists(.keyFile), let file = configuration.keyFile { try? Files.remove(file) }
    }

    private static func makeKeyDirectory(
        _ configuration: StoreConfiguration
    ) throws(StoreOpenError) {
        guard let parent = configuration.keyFile.flatMap(Files.parent(of:)) else { return }
        try mapError({ StoreOpenError(.keyFile, $0) }, Files.makeDirectory(parent, mode: 0o700))
    }
}

/// A lock for one store per data directory that the system releases however the process ends.
final class StoreLock {
    private let directory: OpenFile

    /// - Throws: `.locked` at once when somebody else has it.
    init(_ configuration: StoreConfiguration) throws(StoreOpenError) {
        try StoreOpenError.Part.dataDirectory.checkPrivate(at: configuration.dataDirectory)
        directory = try mapError({ StoreOpenError(.dataDirectory, $0) }) { () throws(FileError) in
            let directory = try OpenFile(configuration.dataDirectory, flags: O_RDONLY | O_DIRECTORY)
            try directory.lockExclusively()
            return directory
        }
    }

    deinit {
        // By name: a child between fork and exec still shares the descriptor, and with it the lock.
        directory.unlock()
    }
}
