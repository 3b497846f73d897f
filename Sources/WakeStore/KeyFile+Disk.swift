private import Glibc
import WakeFiles
import WakeModel
import WakeSodium

extension KeyFile {
    static func read(_ configuration: StoreConfiguration) throws(StoreOpenError) -> KeyFile {
        // A number of no other start: what was written down about a generation of a start before
        // must not be taken for one of this.
        guard let path = configuration.keyFile else {
            return random(generation: .random(in: 1 << 32..<1 << 53))
        }
        try Part.keyFile.checkPrivate(at: path)
        try checkPlace(configuration)
        var bytes: [UInt8]
        do throws(FileError) {
            bytes = try Files.read(path, limit: 4096)
        } catch {
            throw StoreOpenError(.keyFile, error)
        }
        defer { wipe(&bytes) }
        return try KeyFile(decoding: bytes)
    }

    /// Writes a file that must not exist yet, mode 0600.
    func create(_ configuration: StoreConfiguration) throws(StoreOpenError) {
        guard let path = configuration.keyFile else { return }
        var bytes = encode()
        defer { wipe(&bytes) }
        do throws(FileError) {
            try Files.create(path, with: bytes.span)
        } catch {
            throw StoreOpenError(.keyFile, error)
        }
    }

    /// A copy of the data directory must not carry the keys with it.
    static func checkPlace(_ configuration: StoreConfiguration) throws(StoreOpenError) {
        guard let path = configuration.keyFile else { return }
        let directory: String
        do throws(FileError) {
            directory = try Files.resolve(configuration.dataDirectory)
        } catch {
            throw StoreOpenError(.dataDirectory, error)
        }
        let place: String
        do throws(FileError) {
            place = try Files.resolve(Files.parent(of: path) ?? ".")
        } catch {
            throw StoreOpenError(.keyFile, error)
        }
        guard place != directory, !place.hasPrefix(directory + "/") else {
            throw .keyFileInsideData
        }
    }

    // MARK: Replacing

    /// How a replacement went.
    enum Replacement: Equatable {
        /// The new keys are on the disk, the old ones nowhere.
        case done
        /// The old file is what it was: errno.
        case refused(Int32)
        /// The new file has the name, but whether it keeps it over a power cut is unknown.
        case unknown
    }

    /// Replaces the file by rename and overwrites what the old one left on the disk.
    func replace(_ configuration: StoreConfiguration) -> Replacement {
        guard let path = configuration.keyFile else { return .done }
        var bytes = encode()
        defer { wipe(&bytes) }
        let old: OpenFile
        do throws(FileError) {
            old = try OpenFile(path, flags: O_WRONLY)
            try Files.replace(path, with: bytes.span)
        } catch {
            // A failed flush of the directory comes after the rename, all the rest before it.
            return Self.contains(path, bytes) ? .unknown : .refused(error.number)
        }
        Self.destroy(old)
        return .done
    }

    /// A replacement that a crash cut short leaves a file with keys, never used: nobody may find
    /// them once they are those of a generation that was dropped.
    static func removeRemnant(_ configuration: StoreConfiguration) throws(StoreOpenError) {
        guard let path = configuration.keyFile.map({ $0 + ".tmp" }), Files.exists(path) else {
            return
        }
        do throws(FileError) {
            destroy(try OpenFile(path, flags: O_WRONLY))
            try Files.remove(path)
            try Files.synchronizeDirectory(of: path)
        } catch {
            throw StoreOpenError(.keyFile, error)
        }
    }

    /// The name may be gone already; on file systems that write in place the bytes go as well.
    private static func destroy(_ file: OpenFile) {
        let zeros = [UInt8](repeating: 0, count: byteCount)
        try? file.write(zeros.span, at: 0)
        try? file.synchronize()
    }

    private static func contains(_ path: String, _ bytes: [UInt8]) -> Bool {
        guard var found = try? Files.read(path, limit: 4096) else { return true }
        defer { wipe(&found) }
        return found == bytes
    }

    private typealias Part = StoreOpenError.Part
}
