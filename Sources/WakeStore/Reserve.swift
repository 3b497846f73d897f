private import Glibc
import WakeFiles

/// Room on the disk that is given up when deletes need it.
///
/// On a full disk the log cannot grow, so without it nobody could be forgotten. While it is not
/// held, nothing may be registered: otherwise new rows would eat what deletes need.
final class Reserve {
    private let path: String
    private let count: Int
    private(set) var isHeld = false

    init(path: String, count: Int) {
        self.path = path
        self.count = count
    }

    /// Takes the room if it is not held.
    /// - Returns: whether it is held now.
    func hold() -> Bool {
        if isHeld || count == 0 { return true }
        do throws(FileError) {
            let file = try OpenFile(path, flags: O_RDWR | O_CREAT)
            guard fchmod(file.descriptor, 0o600) == 0 else { return false }
            try file.allocate(count)
            if try file.status().size != count { try file.truncate(to: count) }
            isHeld = true
        } catch {
            // A part of it would help nobody and keep what a delete may need.
            release()
        }
        return isHeld
    }

    /// Gives the room back to the file system.
    func release() {
        isHeld = false
        if count > 0 { try? OpenFile(path, flags: O_WRONLY).truncate(to: 0) }
    }
}
