/// A moment as two clocks see it. The wall clock may be set; uptime never goes back but starts anew
/// with the machine.
package struct ClockReading: Sendable, Equatable {
    /// Seconds since 1970, CLOCK_REALTIME.
    package let wall: Int
    /// Seconds since the machine started, suspended or not, CLOCK_BOOTTIME.
    package let uptime: Int
    /// Which start of the machine: the kernel's random boot id (random(4)); 16 bytes.
    package let boot: [UInt8]

    package init(wall: Int, uptime: Int, boot: [UInt8]) {
        self.wall = wall
        self.uptime = uptime
        self.boot = boot
    }

    /// Seconds since an earlier moment; nil when only a lower bound is known.
    func seconds(since earlier: ClockReading) -> Int? {
        // One and the same start of the machine: uptime is right however the wall clock was set.
        if boot == earlier.boot, uptime >= earlier.uptime { return uptime - earlier.uptime }
        let difference = wall - earlier.wall
        // Less than the machine has been up since: one of the wall clocks was wrong.
        return difference >= uptime ? difference : nil
    }

    /// At least so many seconds have passed since an earlier moment.
    func atLeast(since earlier: ClockReading) -> Int {
        seconds(since: earlier) ?? max(0, uptime)
    }
}
