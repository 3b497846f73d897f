private import Glibc
@_exported public import WakeBytes

/// A failed system call that is not about a file: the error number alone (errno(3)).
package struct SystemError: Error, Hashable, Sendable {
    package let number: Int32

    package init(_ number: Int32) { self.number = number }

    /// The result of a call that returns minus the error number.
    package static func check(_ result: Int32) throws(SystemError) -> Int32 {
        guard result >= 0 else { throw SystemError(-result) }
        return result
    }

    /// The system's description of the error number, in English (strerror(3)).
    package var reason: String { unsafe String(cString: strerror(number)) }
}

/// A system call on a file that failed. Carries no path: callers know which file they named.
package struct FileError: Error, Hashable, Sendable {
    package enum Call: Sendable {
        case open, read, write, sync, rename, remove, makeDirectory, list, status, lock, truncate
        /// Of a directory, after a rename in it.
        case syncDirectory
    }

    package let call: Call
    /// `errno` (errno(3)).
    package let number: Int32

    /// - Parameter number: taken from `errno` when absent: call it right after the failure.
    package init(_ call: Call, _ number: Int32? = nil) {
        self.call = call
        self.number = number ?? errno
    }

    package var isMissing: Bool { number == ENOENT }
    package var isNotPermitted: Bool { number == EPERM || number == EACCES }
    package var exists: Bool { number == EEXIST }
    /// Not the file's fault: the process or the machine has no descriptor or memory left.
    package var isExhaustion: Bool { [EMFILE, ENFILE, ENOMEM].contains(number) }
    package var isLocked: Bool { call == .lock && (number == EWOULDBLOCK || number == EAGAIN) }
    package var reason: String { SystemError(number).reason }
}
