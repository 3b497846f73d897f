private import Glibc
import WakeFeed
import WakeFiles

/// The bytes of a batch that did not arrive whole.
enum PartFile {
    /// Opens the file, or makes it, feeds what is worth keeping to `reader`, and cuts off the rest.
    /// - Returns: the file to append to, nil when nothing can be kept; how much was fed; and
    ///   whether the disk is full.
    static func resume(
        _ path: String, feeding reader: inout BatchReader
    ) -> (file: OpenFile?, mark: Int, isFull: Bool) {
        do throws(FileError) {
            let file = try OpenFile(path, flags: O_RDWR | O_CREAT | O_APPEND)
            let size = try file.status().size
            var mark = size / BatchIntake.markBytes * BatchIntake.markBytes
            // Bytes that end a batch are of no use to a Range request: there must be a rest.
            if mark > FeedLimits.headerBytes + FeedLimits.payloadBytes { mark = 0 }
            if try !feed(file, upTo: mark, to: &reader) { mark = 0 }
            if let rest = reader.remainingBytes, rest == 0 { mark = 0 }
            try file.truncate(to: mark)
            return (file, mark, false)
        } catch {
            return (nil, 0, error.isFull)
        }
    }

    /// - Returns: false when the reader refused the bytes.
    private static func feed(
        _ file: OpenFile, upTo mark: Int, to reader: inout BatchReader
    ) throws(FileError) -> Bool {
        var offset = 0
        while offset < mark {
            let piece = try file.read(at: offset, count: BatchIntake.markBytes)
            guard piece.count == BatchIntake.markBytes else { return false }
            do {
                try reader.feed(piece.span)
            } catch {
                return false
            }
            offset += piece.count
        }
        return true
    }
}
