import TestSupport
import Testing
import WakeSystem

@Suite("Suspensions of the machine")
struct SuspendMonitorTests {
    private static let second: UInt64 = 1_000_000_000

    @Test("show as a lead of the boot-time clock that grows, each one once")
    func detector() {
        var detector = SuspendDetector(boot: 100 * Self.second, monotonic: 40 * Self.second)
        // Seconds of both clocks, and whether the machine has slept.
        let readings: [(boot: UInt64, monotonic: UInt64, hasSlept: Bool)] = [
            // The clock was set, or time went by.
            (100, 40, false), (5000, 4940, false),
            (6001, 4940, true), (6002, 4941, false), (6005, 4941, true),
            // A reading that was interrupted hides nothing afterwards.
            (6005, 4950, false), (6020, 4951, true),
        ]
        for reading in readings {
            // What lies between two readings is no sleep.
            let hasSlept = detector.hasSlept(
                boot: reading.boot * Self.second + 999, monotonic: reading.monotonic * Self.second)
            #expect(hasSlept == reading.hasSlept, "\(reading)")
        }
    }

    @Test("a monitor begins, reports none while the machine is awake, and ends")
    func monitor() throws {
        let reports = Observed(0)
        let monitor = try SuspendMonitor { reports.update { $0 += 1 } }
        monitor.close()
        #expect(reports.value == 0)
    }
}
