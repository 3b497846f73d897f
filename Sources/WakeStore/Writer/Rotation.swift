private import Dispatch
private import Glibc
import WakeModel
import WakeSystem

/// A rotation: makes an empty file for the next generation, replaces the keys, which destroys those
/// of the previous generation, and removes its file. It takes as long for ten rows as for ten
/// million. What ends before the keys are replaced has changed nothing; after that the next start
/// removes the file.
struct Rotation {
    private let store: OpenGenerations
    private let next: KeyFile

    /// Room for an entry in a directory, and how often it is asked for.
    private static let nameBytes = 1 << 16
    private static let attempts = 16

    init(_ store: OpenGenerations) {
        self.store = store
        next = store.keys.rotated()
    }

    func run() -> RotationOutcome {
        let begun = SystemClock.monotonicNanoseconds
        defer { _ = store.reserve.fill() }
        do throws(SQLiteError) {
            try store.settleMoves()
            try store.emptyLogsIfUsed()
        } catch {
            store.fail(error)
            return .failed(.unavailable)
        }
        let dropped = store.survey()?.previous ?? 0
        guard let file = makeFile() else { return abandon(.unavailable) }
        switch replaceKeys() {
        case .done: break
        case .refused(let number): return abandon(.keysUnwritable(number))
        case .unknown:
            store.die()
            return .failed(.unavailable)
        }
        let blocks = holdBlocks()
        store.begin(file, with: next)
        removeFile()
        DispatchQueue.global(qos: .utility).async { _ = blocks }
        guard !store.isDead else { return .failed(.unavailable) }
        store.counters.rotations.add()
        store.counters.expired.add(dropped)
        _ = store.survey()
        let nanoseconds = SystemClock.monotonicNanoseconds - begun
        return .rotated(
            RotationReport(
                generation: next.generation, dropped: dropped,
                milliseconds: Int(nanoseconds / 1_000_000)))
    }

    /// On a full disk the room of the reserve goes straight to the new file, which is open by then:
    /// another process has no more than the moment between two system calls to take it.
    private func makeFile() -> GenerationFile? {
        let (configuration, reserve) = (store.configuration, store.reserve)
        let path = configuration.file(of: next.generation)
        for _ in 0..<Self.attempts {
            do throws(StoreOpenError) {
                try StoreFiles.makeEmpty(path, reserve)
                return try GenerationFile(configuration, next, .current, reserve)
            } catch {
                // There was no room for its name.
                guard error.isFull, reserve.held > 0 else { return nil }
                reserve.release(Self.nameBytes)
            }
        }
        return nil
    }

    private func replaceKeys() -> KeyFile.Replacement {
        let reserve = store.reserve
        for _ in 0..<Self.attempts {
            let result = next.replace(store.configuration) { file in
                reserve.lend(KeyFile.byteCount, to: file, behind: 0)
            }
            guard result.isOutOfRoom, reserve.held > 0 else { return result }
            // There was no room for its name, or it is on another disk.
            reserve.release(Self.nameBytes)
        }
        return .refused(ENOSPC)
    }

    /// What stays of the new file is empty; the next rotation or start removes it.
    private func abandon(_ failure: RotationFailure) -> RotationOutcome {
        try? StoreFiles.remove(store.configuration, generation: next.generation)
        return .failed(failure)
    }

    /// The file that is to be removed, open until the writer has closed it: to give back gigabytes
    /// takes a second, for which nobody need wait but on a full disk.
    private func holdBlocks() -> OpenFile? {
        guard store.reserve.isComplete else { return nil }
        return try? OpenFile(store.previous.path, flags: O_RDONLY)
    }

    /// Durably: after a power cut no file is there whose rows nothing erases.
    private func removeFile() {
        do throws(FileError) {
            try StoreFiles.remove(store.configuration, generation: next.generation - 2)
            try store.directory.synchronize()
        } catch { store.die() }
    }
}

package enum RotationOutcome: Sendable, Equatable {
    case rotated(RotationReport)
    /// Nothing has changed.
    case failed(RotationFailure)
}

package struct RotationReport: Sendable, Equatable {
    /// Number of the generation that is current now.
    package let generation: UInt64
    /// Rows, exact below `Limits.surveyRows`.
    package let dropped: Int
    package let milliseconds: Int
}

package enum RotationFailure: Sendable, Equatable {
    /// The files cannot be written now.
    case unavailable
    /// The key file cannot be replaced: errno.
    case keysUnwritable(Int32)
}
