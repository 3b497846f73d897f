/// A moment by two clocks: the wall clock may be set; uptime never goes back but starts at zero.
package struct ClockReading: Sendable, Equatable {
    /// Seconds since 1970, CLOCK_REALTIME.
    package let wall: Int
    /// Seconds since the machine started, suspended or not, CLOCK_BOOTTIME.
    package let uptime: Int
    /// The start of the machine: the kernel's random boot id (random(4)); 16 bytes.
    package let boot: [UInt8]

    package init(wall: Int, uptime: Int, boot: [UInt8]) {
        self.wall = wall
        self.uptime = uptime
        self.boot = boot
    }

    package static func system() -> ClockReading {
        ClockReading(
            wall: SystemClock.wallSeconds,
            uptime: Int(SystemClock.bootNanoseconds / 1_000_000_000), boot: systemBoot)
    }

    /// Seconds since an earlier moment; nil when only a lower bound is known.
    package func seconds(since earlier: ClockReading) -> Int? {
        // One and the same start of the machine: uptime is right however the wall clock was set.
        if boot == earlier.boot, uptime >= earlier.uptime { return uptime - earlier.uptime }
        let difference = wall - earlier.wall
        // Less than the machine has been up since: one of the wall clocks was wrong.
        return difference >= uptime ? difference : nil
    }

    package func atLeast(since earlier: ClockReading) -> Int {
        seconds(since: earlier) ?? max(0, uptime)
    }

    /// Without /proc all zeros: two starts then differ by uptime going back alone.
    private static let systemBoot: [UInt8] = {
        let none = [UInt8](repeating: 0, count: 16)
        let path = "/proc/sys/kernel/random/boot_id"
        guard let text = try? Files.read(path, limit: 64) else { return none }
        let digits = text.compactMap { Character(UnicodeScalar($0)).hexDigitValue }
        guard digits.count == 32 else { return none }
        return (0..<16).map { UInt8(digits[2 * $0] << 4 | digits[2 * $0 + 1]) }
    }()
}
