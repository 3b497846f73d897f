import Dispatch
import WakeFiles

/// The record of the round in work, as a file that is made, found again and removed. Everything
/// that blocks is done on a thread of its own.
struct RoundFile: Sendable {
    let path: String
    private static let queue = DispatchQueue(label: "round-file")

    /// At the start of the service, before there are others to hold up.
    func find() -> RoundRecord? {
        do throws(FileError) {
            if case .round(let record) = try RoundRecord.open(path) { return record }
            return nil
        } catch {
            return nil
        }
    }

    /// - Returns: nil when it cannot be written.
    func create(_ header: RoundHeader) async -> RoundRecord? {
        await withCheckedContinuation { continuation in
            Self.queue.async {
                do throws(FileError) {
                    continuation.resume(returning: try RoundRecord.create(path, header))
                } catch {
                    continuation.resume(returning: nil)
                }
            }
        }
    }

    /// The round has ended. When the file stays, it is of a round that is over and will be
    /// recognised as such by its number.
    func remove() async {
        await withCheckedContinuation { continuation in
            Self.queue.async {
                try? RoundRecord.remove(path)
                continuation.resume()
            }
        }
    }
}
