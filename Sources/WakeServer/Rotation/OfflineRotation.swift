import WakeFiles
import WakePush
package import WakeStore

/// Rotations while no service runs: the same store, the same record, one command long.
package struct OfflineRotation: Sendable {
    private let configuration: Configuration
    private let store: Store
    private let file: RotationFile
    private var schedule: RotationSchedule

    /// Opens the store; blocks for some milliseconds.
    package init(_ configuration: Configuration, log: Log) throws(StoreOpenError) {
        self.configuration = configuration
        store = try Store(opening: configuration.store)
        file = RotationFile(path: configuration.rotationRecord)
        schedule = file.schedule(
            interval: configuration.rotationSeconds, generation: store.generationNumber, log: log)
    }

    /// A broadcast was cut short; the service goes on with it when it starts. A rotation in between
    /// would have some people miss it.
    package var hasRoundInWork: Bool { Files.exists(configuration.roundRecord) }

    /// - Returns: nil when the files cannot be read.
    package func status() async -> RotationStatus? {
        await store.survey().map { RotationStatus($0, schedule) }
    }

    package mutating func rotate() async -> RotationOutcome {
        schedule.ask()
        _ = file.write(schedule.record)
        let outcome = await store.rotate()
        if case .rotated(let report) = outcome {
            schedule.rotated(
                to: report.generation, isCompact: report.compaction.isDone, now: .system())
            _ = file.write(schedule.record)
        }
        return outcome
    }

    package func close() async { await store.close() }
}
