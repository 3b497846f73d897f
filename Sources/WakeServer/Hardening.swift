import CLinux
import Glibc

/// The daemon's restrictions on itself, applied before it reads a key.
enum Hardening {
    static func apply() {
        // No core file, and no other process of this user may read our memory (prctl(2),
        // PR_SET_DUMPABLE): tokens and keys live in it.
        var none = rlimit(rlim_cur: 0, rlim_max: 0)
        unsafe setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
        linux_set_undumpable()
        raiseDescriptorLimit()
    }

    /// The soft limit is for programs that use select(2); epoll has no such bound.
    private static func raiseDescriptorLimit() {
        var limit = rlimit()
        guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else {
            return
        }
        limit.rlim_cur = limit.rlim_max
        unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }
}
