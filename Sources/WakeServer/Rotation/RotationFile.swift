import WakeFiles
import WakePush
import WakeStore

/// `data/rotation`, read at the start and replaced by rename now and then.
struct RotationFile: Sendable {
    let path: String

    enum Found {
        case record(RotationRecord)
        case none
        /// There is a file and it says nothing: a full interval begins.
        case damaged
    }

    func read() -> Found {
        do throws(FileError) {
            let bytes = try Files.read(path, limit: RotationRecord.byteLimit)
            do throws(RotationRecord.Damaged) {
                return .record(try RotationRecord(decoding: bytes))
            } catch {
                return .damaged
            }
        } catch {
            return error.isMissing ? .none : .damaged
        }
    }

    /// - Returns: whether it could be written.
    func write(_ record: RotationRecord) -> Bool {
        let bytes = record.encode()
        do throws(FileError) {
            try Files.replace(path, with: bytes.span)
            return true
        } catch {
            return false
        }
    }

    /// The schedule as of now, from what is there.
    func schedule(
        interval: Int, generation: UInt64, log: Log
    ) -> RotationSchedule {
        var record: RotationRecord?
        switch read() {
        case .record(let found): record = found
        case .none: break
        case .damaged: log(.rotationFileDamaged)
        }
        return RotationSchedule(
            interval: interval, record: record, generation: generation, now: .system())
    }
}
