import Testing
import WakeModel

@testable import WakeStore

@Suite("A step of a rotation has the rows that fit its time and the log")
struct StepSizeTests {
    private static let aim = UInt64(Limits.stepMilliseconds) * 1_000_000

    @Test("more after short steps, fewer after long ones, the same between")
    func time() {
        var step = StepSize()
        #expect(step.rows == 2048)
        step.adapt(nanoseconds: Self.aim * 3 / 4)
        #expect(step.rows == 2048)
        step.adapt(nanoseconds: Self.aim / 3)
        #expect(step.rows == 4096)
        for _ in 0..<9 { step.adapt(nanoseconds: 1) }
        #expect(step.rows == 8192)
        step.adapt(nanoseconds: Self.aim + 1)
        #expect(step.rows == 4096)
    }

    @Test("on a disk whose flushes alone take longer a rotation comes to its end")
    func slowDisk() {
        var step = StepSize()
        for _ in 0..<20 { step.adapt(nanoseconds: 10 * Self.aim) }
        #expect(step.rows == 2048)
    }

    @Test("what had no room is not tried again, however fast the disk is")
    func room() {
        var step = StepSize()
        var sizes: [Int] = []
        while step.shrink() {
            sizes.append(step.rows)
            step.adapt(nanoseconds: 1)
            step.adapt(nanoseconds: Self.aim + 1)
            step.adapt(nanoseconds: 1)
        }
        #expect(sizes == [512, 128, 32])
        #expect(step.rows == 32)
    }

    @Test("a fixed one stays")
    func fixed() {
        var step = StepSize(fixed: 7)
        step.adapt(nanoseconds: 1)
        step.adapt(nanoseconds: Self.aim * 2)
        #expect(step.rows == 7)
    }
}
