private import Glibc
private import WakeFetch
private import WakeSodium

extension ClientEnvironment {
    /// The real world: libcurl, the system's clocks, libsodium's randomness. Logs nothing.
    public static let live = ClientEnvironment(
        transport: { (configuration) throws(FetchError) in try Fetcher(configuration) },
        wallSeconds: { Int64(time(nil)) },
        uptime: { bootTime() },
        sleep: { duration in try? await Task.sleep(for: duration, clock: .continuous) },
        randomUnit: {
            // 53 bits: every value is a Double below 1.
            let word = Sodium.random(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            return Double(word >> 11) / 9_007_199_254_740_992
        },
        randomBytes: { Sodium.random($0) },
        executor: { QueueExecutor(label: "reveille.client") })

    /// CLOCK_BOOTTIME counts while the machine is suspended (clock_gettime(2)).
    private static func bootTime() -> Duration {
        var time = timespec()
        unsafe clock_gettime(CLOCK_BOOTTIME, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}
