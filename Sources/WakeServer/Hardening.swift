import Glibc

/// The daemon's own limits, set before it opens anything.
enum Hardening {
    static func apply() { raiseDescriptorLimit() }

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
