private import Glibc
import WakeSystem

/// Disk room for the log of deletes on a full disk; while it is incomplete nothing is registered.
final class DiskReserve {
    private let path: String
    private let count: Int
    private var held = 0

    /// Less than this is not worth a file.
    private static let leastBytes = 1 << 16

    init(path: String, count: Int) {
        self.path = path
        self.count = count
    }

    /// Allocates what is missing, or what the disk has; returns whether the reserve is complete.
    func fill() -> Bool {
        guard held < count else { return true }
        var wanted = count
        while wanted > held, wanted >= min(Self.leastBytes, count) {
            if resize(wanted) { break }
            wanted /= 2
        }
        return held == count
    }

    func release(_ bytes: Int) {
        guard held > 0 else { return }
        _ = resize(bytes < held - Self.leastBytes ? held - bytes : 0)
    }

    /// - Returns: false, with the size unchanged, when there is no room.
    private func resize(_ size: Int) -> Bool {
        do throws(FileError) {
            let file = try OpenFile(path, flags: O_RDWR | O_CREAT)
            guard fchmod(file.descriptor, 0o600) == 0 else { return false }
            do throws(FileError) {
                if size > 0 { try file.allocate(size) }
            } catch {
                // A part may have been allocated all the same (posix_fallocate(3)).
                try file.truncate(to: held)
                return false
            }
            // A file of an earlier start may be larger.
            try file.truncate(to: size)
            held = size
            return true
        } catch { return false }
    }
}
