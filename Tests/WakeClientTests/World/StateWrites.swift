import CSQLite
import Glibc
import Synchronization
import Testing
import WakeSystem

/// The writes of SQLite to the files of simulated devices: a test decides which of them fail.
enum StateWrites {
    /// Returns 0 to let a write happen, or the number of errno(3) by which it fails.
    typealias Rule = @Sendable () -> Int32

    private static let rules = Mutex<[String: Rule]>([:])

    /// Asks `rule` before every write below a directory; nil lets all happen.
    static func set(_ rule: Rule?, below directory: String) {
        installed
        rules.withLock { $0[directory + "/"] = rule }
    }

    /// SQLite calls the system by a table of its own (sqlite.org/c3ref/vfs.html, xSetSystemCall).
    private static let installed: Void = {
        // The first connection configures SQLite, and nothing may use it before.
        _ = try? Database(path: ":memory:", access: .create)
        guard let system = unsafe sqlite3_vfs_find(nil),
            let replace = unsafe system.pointee.xSetSystemCall
        else {
            Issue.record("the calls that SQLite makes of the system cannot be replaced")
            return
        }
        let write: Write = { file, bytes, count in
            guard refusal(of: file) == 0 else { return -1 }
            return unsafe Glibc.write(file, bytes, count)
        }
        let writeAt: WriteAt = { file, bytes, count, offset in
            guard refusal(of: file) == 0 else { return -1 }
            return unsafe Glibc.pwrite(file, bytes, count, offset)
        }
        _ = unsafe replace(system, "write", unsafeBitCast(write, to: sqlite3_syscall_ptr.self))
        for name in ["pwrite", "pwrite64"] {
            _ = unsafe replace(system, name, unsafeBitCast(writeAt, to: sqlite3_syscall_ptr.self))
        }
    }()

    private typealias Write = @convention(c) (Int32, UnsafeRawPointer?, Int) -> Int
    private typealias WriteAt = @convention(c) (Int32, UnsafeRawPointer?, Int, off_t) -> Int

    /// The answer of the rule for an open file, also as errno.
    private static func refusal(of file: Int32) -> Int32 {
        let rules = rules.withLock { $0 }
        guard !rules.isEmpty else { return 0 }
        var name = [CChar](repeating: 0, count: 1024)
        let count = unsafe readlink("/proc/self/fd/\(file)", &name, name.count)
        let path = String(decoding: name.prefix(max(0, count)).map(UInt8.init), as: UTF8.self)
        let number = rules.first { path.hasPrefix($0.key) }?.value() ?? 0
        errno = number
        return number
    }
}
