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
    }

    /// The descriptors that this process may have at most: nobody here raises the hard limit.
    static var descriptorLimit: Int {
        var limit = rlimit()
        guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else {
            return 1024
        }
        return Int(clamping: limit.rlim_max)
    }

    /// The soft limit is for programs that use select(2); epoll has no such bound.
    static func raiseDescriptorLimit(to wanted: Int) {
        var limit = rlimit()
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        guard unsafe getrlimit(resource, &limit) == 0 else { return }
        limit.rlim_cur = min(limit.rlim_max, max(limit.rlim_cur, rlim_t(wanted)))
        unsafe setrlimit(resource, &limit)
    }
}
