import Glibc

/// The daemon's own limits, set before it opens anything.
enum Hardening {
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
