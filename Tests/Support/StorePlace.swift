private import Glibc

/// A temporary directory for one test; removed with everything in it when released.
package final class StorePlace: Sendable {
    package let path: String

    /// - Parameter parent: nil for memory, where there is enough of it: most of what a test of a
    ///   store waits for is the disk, and what survives a process does not depend on it.
    package init(in parent: String? = nil) {
        var template = Array("\(parent ?? Self.usual)/store-XXXXXX".utf8CString)
        path = unsafe template.withUnsafeMutableBufferPointer { buffer in
            guard let start = buffer.baseAddress, let made = unsafe mkdtemp(start) else {
                preconditionFailure("no temporary directory")
            }
            return unsafe String(cString: made)
        }
    }

    /// Where temporary files of tests go: memory, unless there is too little, as in containers.
    package static let usual: String = {
        var status = statvfs()
        guard unsafe statvfs("/dev/shm", &status) == 0,
            UInt64(status.f_bavail) * UInt64(status.f_frsize) > 1 << 30
        else { return "/tmp" }
        return "/dev/shm"
    }()

    package var data: String { path + "/data" }
    package var keys: String { path + "/keys/master" }

    deinit {
        Self.remove(path)
    }

    /// Names of everything directly inside a directory.
    package static func names(in directory: String) -> [String] {
        guard let stream = unsafe opendir(directory) else { return [] }
        defer { unsafe closedir(stream) }
        var names: [String] = []
        let offset = MemoryLayout<dirent>.offset(of: \.d_name) ?? 0
        while let entry = unsafe readdir(stream) {
            let start = unsafe UnsafeRawPointer(entry) + offset
            let name = unsafe String(cString: start.assumingMemoryBound(to: CChar.self))
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    /// The bytes of a file, read without SQLite; empty when there is none.
    package static func bytes(of path: String) -> [UInt8] {
        let descriptor = unsafe open(path, O_RDONLY)
        guard descriptor >= 0 else { return [] }
        defer { close(descriptor) }
        var status = stat()
        unsafe fstat(descriptor, &status)
        return unsafe [UInt8](unsafeUninitializedCapacity: Int(status.st_size)) { buffer, count in
            count = max(0, unsafe pread(descriptor, buffer.baseAddress, buffer.count, 0))
        }
    }

    /// Permission bits of a file or directory; 0 when there is none.
    package static func mode(of path: String) -> UInt32 {
        var status = stat()
        guard unsafe lstat(path, &status) == 0 else { return 0 }
        return status.st_mode & 0o7777
    }

    private static func remove(_ path: String) {
        for name in names(in: path) {
            let inner = path + "/" + name
            if unsafe unlink(inner) != 0 { remove(inner) }
        }
        unsafe rmdir(path)
    }
}
