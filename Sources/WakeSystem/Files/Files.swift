private import CLinux
private import Glibc

package enum Files {
    /// Replaces a file as a whole: temporary file, fsync, rename, fsync of the directory. A crash
    /// leaves the old file or the new one (rename(2)); at worst a `.tmp` stays.
    /// - Parameter giveRoom: on a full disk, gets the temporary file to allocate room for it; the
    ///   bytes are then written once more.
    /// - Throws: `.syncDirectory` when the new file has the name already, perhaps not for good; any
    ///   other error came before that and has left the old file alone.
    package static func replace(
        _ path: String, with bytes: Span<UInt8>, mode: UInt32 = 0o600,
        onFullDisk giveRoom: (OpenFile) -> Void = { _ in }
    ) throws(FileError) {
        let temporary = path + ".tmp"
        do throws(FileError) {
            try write(temporary, bytes, flags: O_TRUNC, mode, onFullDisk: giveRoom)
            try rename(temporary, to: path)
        } catch {
            if error.call != .syncDirectory { try? remove(temporary) }
            throw error
        }
    }

    /// Creates a file that must not exist yet, durably.
    package static func create(
        _ path: String, with bytes: Span<UInt8>, mode: UInt32 = 0o600
    ) throws(FileError) {
        try write(path, bytes, flags: O_EXCL, mode)
        try synchronizeDirectory(of: path)
    }

    /// The same for this process's user; after a power cut it may be missing, empty or cut short.
    package static func createForNow(_ path: String, with bytes: Span<UInt8>) throws(FileError) {
        try OpenFile(path, flags: O_WRONLY | O_CREAT | O_EXCL).write(bytes)
    }

    /// Makes all that was written to the disk of a file durable (syncfs(2)).
    package static func synchronizeDisk(of path: String) throws(FileError) {
        let file = try OpenFile(path, flags: O_RDONLY, followsLink: true)
        guard linux_synchronize_disk(file.descriptor) == 0 else { throw FileError(.sync) }
    }

    private static func write(
        _ path: String, _ bytes: Span<UInt8>, flags: Int32, _ mode: UInt32,
        onFullDisk giveRoom: (OpenFile) -> Void = { _ in }
    ) throws(FileError) {
        let file = try OpenFile(path, flags: O_WRONLY | O_CREAT | flags, mode: mode)
        // open(2) applies the umask; the caller meant these bits.
        guard fchmod(file.descriptor, mode) == 0 else { throw FileError(.open) }
        do throws(FileError) {
            try file.write(bytes, at: 0)
        } catch {
            guard error.isFull else { throw error }
            giveRoom(file)
            try file.write(bytes, at: 0)
        }
        try file.synchronize()
    }

    /// Reads a whole file; throws `EFBIG` when it is larger than `limit` bytes.
    package static func read(_ path: String, limit: Int) throws(FileError) -> [UInt8] {
        let file = try OpenFile(path, flags: O_RDONLY)
        return try check(try file.read(at: 0, count: min(limit, Int.max - 1) + 1), limit)
    }

    private static func check(_ bytes: [UInt8], _ limit: Int) throws(FileError) -> [UInt8] {
        guard bytes.count <= limit else { throw FileError(.read, EFBIG) }
        return bytes
    }

    /// Reads a secret: a regular file that nobody but this process's user can read or write; nil
    /// when others can, or for a link. Throws `EFBIG` when it is larger than `limit` bytes.
    package static func readPrivate(_ path: String, limit: Int) throws(FileError) -> [UInt8]? {
        let file: OpenFile
        do throws(FileError) {
            file = try OpenFile(path, flags: O_RDONLY)
        } catch {
            guard error.number == ELOOP else { throw error }
            return nil
        }
        // Status and bytes of the same open file: a name could be exchanged in between.
        let status = try file.status()
        guard status.isPrivate, status.isRegular else { return nil }
        return try check(try file.read(at: 0, count: limit + 1), limit)
    }

    /// Reads a regular file, perhaps behind a link; `EFBIG` beyond `limit` bytes. Never waits.
    package static func readLinked(_ path: String, limit: Int) throws(FileError) -> [UInt8] {
        let file = try OpenFile(path, flags: O_RDONLY | O_NONBLOCK, followsLink: true)
        guard try file.status().isRegular else { throw FileError(.read, EINVAL) }
        return try check(try file.read(at: 0, count: limit + 1), limit)
    }

    /// Reads a file that the user named, perhaps a link or a pipe; `EFBIG` beyond `limit` bytes.
    package static func readGiven(_ path: String, limit: Int) throws(FileError) -> [UInt8] {
        let file = try OpenFile(path, flags: O_RDONLY, followsLink: true)
        return try check(try file.readToEnd(limit: limit), limit)
    }

    /// Renames and makes the new name durable.
    /// - Throws: `.syncDirectory` when the file has the new name already, perhaps not for good.
    package static func rename(_ path: String, to target: String) throws(FileError) {
        // Opened first: after the rename there is no way back, also without a descriptor left.
        let directory = try directory(of: target)
        try renameForNow(path, to: target)
        do throws(FileError) {
            try directory.synchronize()
        } catch { throw FileError(.syncDirectory, error.number) }
    }

    /// Renames; after a power cut the file may have either name.
    package static func renameForNow(_ path: String, to target: String) throws(FileError) {
        guard unsafe Glibc.rename(path, target) == 0 else { throw FileError(.rename) }
    }

    /// Removes a file; one that is not there is no error.
    package static func remove(_ path: String) throws(FileError) {
        if unsafe unlink(path) != 0, errno != ENOENT { throw FileError(.remove) }
    }

    package static func exists(_ path: String) -> Bool { (try? FileStatus(of: path)) != nil }

    /// Makes a directory and those above it; one that is there is no error.
    package static func makeDirectory(_ path: String, mode: UInt32 = 0o700) throws(FileError) {
        if unsafe mkdir(path, mode) == 0 { return try synchronizeDirectory(of: path) }
        let number = errno
        if number == ENOENT, let parent = parent(of: path), parent != path {
            try makeDirectory(parent, mode: mode)
            guard unsafe mkdir(path, mode) == 0 else { throw FileError(.makeDirectory) }
            return try synchronizeDirectory(of: path)
        }
        var isDirectory = stat()
        guard number == EEXIST, unsafe stat(path, &isDirectory) == 0,
            isDirectory.st_mode & S_IFMT == S_IFDIR
        else { throw FileError(.makeDirectory, number) }
    }

    /// Names in a directory, without `.` and `..`, in no order.
    package static func names(in path: String) throws(FileError) -> [String] {
        guard let directory = unsafe opendir(path) else { throw FileError(.list) }
        defer { unsafe closedir(directory) }
        var names: [String] = []
        let nameOffset = MemoryLayout<dirent>.offset(of: \.d_name) ?? 0
        while let entry = unsafe readdir(directory) {
            // A record may be shorter than `dirent`: only its bytes up to the zero are ours.
            let start = unsafe UnsafeRawPointer(entry) + nameOffset
            let name = unsafe String(cString: start.assumingMemoryBound(to: CChar.self))
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }

    /// fsync(2) of the directory that holds `path`: without it a new name may not survive.
    package static func synchronizeDirectory(of path: String) throws(FileError) {
        try directory(of: path).synchronize()
    }

    private static func directory(of path: String) throws(FileError) -> OpenFile {
        try OpenFile(parent(of: path) ?? ".", flags: O_RDONLY | O_DIRECTORY, followsLink: true)
    }

    /// The path of an existing file with every link resolved (realpath(3)).
    package static func resolve(_ path: String) throws(FileError) -> String {
        guard let resolved = unsafe realpath(path, nil) else { throw FileError(.status) }
        defer { unsafe free(resolved) }
        return unsafe String(cString: resolved)
    }

    /// The directory part of a path; nil when it has none.
    package static func parent(of path: String) -> String? {
        var trimmed = path[...]
        while trimmed.count > 1, trimmed.last == "/" { trimmed = trimmed.dropLast() }
        guard let slash = trimmed.lastIndex(of: "/") else { return nil }
        return slash == trimmed.startIndex ? "/" : String(trimmed[..<slash])
    }
}
