import WakeModel
import WakeSystem

/// The number of rows that a step of a rotation or a compaction takes between two batches of
/// callers: as many as are done in the time for which callers may wait.
struct StepSize {
    private(set) var rows: Int
    /// Fewer after the log had no room for as many.
    private var most = 4 * Limits.stepRows
    private let isFixed: Bool

    /// Fewer in one transaction would never end.
    private static let least = 32
    private static let aim = UInt64(Limits.stepMilliseconds) * 1_000_000

    /// - Parameter fixed: never other than that.
    init(fixed: Int? = nil) {
        rows = fixed ?? Limits.stepRows
        isFixed = fixed != nil
    }

    /// - Parameter begun: when a step of `rows` began, in nanoseconds of the monotonic clock.
    mutating func adapt(toStepSince begun: UInt64) {
        adapt(nanoseconds: SystemClock.monotonicNanoseconds - begun)
    }

    /// - Parameter nanoseconds: what a step of `rows` took.
    mutating func adapt(nanoseconds: UInt64) {
        guard !isFixed else { return }
        if nanoseconds > Self.aim {
            // A slow disk takes as long for fewer: what a step waits for are its flushes.
            rows = max(min(rows, Limits.stepRows), rows / 2)
        } else if nanoseconds < Self.aim / 2 {
            rows = min(most, rows * 2)
        }
    }

    /// There was no room for a step of `rows`: none will be as large.
    /// - Returns: false when it cannot be smaller.
    mutating func shrink() -> Bool {
        guard rows > Self.least else { return false }
        most = max(Self.least, rows / 4)
        rows = most
        return true
    }
}
