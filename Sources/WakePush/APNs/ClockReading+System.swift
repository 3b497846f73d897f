private import Glibc
private import WakeFiles
private import WakeModel

extension ClockReading {
    /// The clocks of this machine, now.
    package static func system() -> ClockReading {
        ClockReading(
            wall: seconds(CLOCK_REALTIME), uptime: seconds(CLOCK_BOOTTIME), boot: systemBoot)
    }

    private static func seconds(_ clock: clockid_t) -> Int {
        var time = timespec()
        unsafe clock_gettime(clock, &time)
        return time.tv_sec
    }

    /// random(4): the kernel's id of this start. Without /proc it is all zeros: the clocks of two
    /// starts are then compared as if they were one, which uptime going back still shows.
    private static let systemBoot: [UInt8] = {
        let none = [UInt8](repeating: 0, count: 16)
        do throws(FileError) {
            let text = try Files.read("/proc/sys/kernel/random/boot_id", limit: 64)
            let digits = text.filter { Hex.value($0) != nil }
            guard let id = Hex.decode(digits.span), id.count == 16 else { return none }
            return id
        } catch {
            return none
        }
    }()
}
