private import Glibc
import WakeFiles

extension OpenFile {
    /// Whether another process holds SQLite's exclusive lock on this database, as the service does
    /// while it runs. Asks only: no lock is taken, and none is dropped (fcntl(2), `F_GETLK`).
    var isHeldExclusively: Bool {
        // sqlite.org/lockingv3.html §3: 510 bytes that readers lock one of.
        var lock = flock()
        lock.l_type = Int16(F_RDLCK)
        lock.l_whence = Int16(SEEK_SET)
        lock.l_start = 0x4000_0002
        lock.l_len = 510
        guard unsafe fcntl(descriptor, F_GETLK, &lock) == 0 else { return false }
        return lock.l_type != Int16(F_UNLCK)
    }
}
