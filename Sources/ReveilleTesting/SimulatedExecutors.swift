import Synchronization

/// The SplitMix64 generator (Steele, Lea, Flood 2014): the same numbers for the same seed.
struct SeededRandom: Sendable {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// Evenly distributed in [0, 1).
    mutating func unit() -> Double { Double(next() >> 11) / 9_007_199_254_740_992 }
}

/// A struct: a bare closure in a `Mutex` is wrapped once more by every `withLock`.
private struct JobSink {
    var run: @Sendable (UnownedJob) -> Void = { _ in }
}

/// Hands jobs of actors on.
final class SimulatedSerialExecutor: SerialExecutor {
    private let sink = Mutex(JobSink())

    func connect(_ sink: @escaping @Sendable (UnownedJob) -> Void) {
        self.sink.withLock { $0.run = sink }
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        sink.withLock { $0.run }(job)
    }
}

/// Hands jobs of tasks on.
package final class SimulatedTaskExecutor: TaskExecutor {
    private let sink = Mutex(JobSink())

    func connect(_ sink: @escaping @Sendable (UnownedJob) -> Void) {
        self.sink.withLock { $0.run = sink }
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        sink.withLock { $0.run }(job)
    }
}
