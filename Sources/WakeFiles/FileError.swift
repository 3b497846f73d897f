private import Glibc

/// A system call on a file that failed. Carries no path: callers know which file they named.
package struct FileError: Error, Hashable, Sendable {
    package enum Call: Sendable {
        case open
        case read
        case write
        case sync
        case rename
        case remove
        case makeDirectory
        case list
        case status
        case lock
        case truncate
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
    /// The disk or the quota is full.
    package var isFull: Bool { number == ENOSPC || number == EDQUOT }
    package var isLocked: Bool { call == .lock && (number == EWOULDBLOCK || number == EAGAIN) }

    /// The system's words for the error number, in English.
    package var reason: String {
        unsafe String(cString: strerror(number))
    }
}
