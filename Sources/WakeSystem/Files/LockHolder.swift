private import Glibc

extension Files {
    /// The process that holds a lock of flock(2) on a file; nil when none is seen. Asking the
    /// kernel for the lock itself could take it from a process that starts at this moment.
    ///
    /// Everyone may read /proc/locks, unlike the descriptors of a process that is not dumpable. It
    /// shows no process of a container that this one cannot see into.
    package static func lockHolder(of path: String) -> Int32? {
        guard let file = try? OpenFile(path, flags: O_RDONLY),
            let names = try? lockNames(of: file),
            let locks = try? readGiven("/proc/locks", limit: 1 << 24)
        else { return nil }
        // proc_locks(5): "1: FLOCK ADVISORY WRITE 2718 08:01:2352 0 EOF".
        for line in locks.split(separator: UInt8(ascii: "\n")) {
            let fields = words(line)
            guard fields.count > 5, fields[1] == "FLOCK", names.contains(fields[5]) else {
                continue
            }
            if let process = Int32(fields[4]), process > 0 { return process }
        }
        return nil
    }

    /// The names that a file may have in /proc/locks: the device of its file system, and its inode.
    /// On btrfs and overlayfs stat(2) gives other ones than the kernel has itself, which
    /// proc_pid_fdinfo(5) and proc_pid_mountinfo(5) show.
    private static func lockNames(of file: OpenFile) throws(FileError) -> Set<String> {
        let identity = try file.status().identity
        var devices = [(major(identity.device), minor(identity.device))]
        var inodes = ["\(identity.inode)"]
        let about = (try? readGiven("/proc/self/fdinfo/\(file.descriptor)", limit: 65_536)) ?? []
        let mounts = (try? readGiven("/proc/self/mountinfo", limit: 1 << 24)) ?? []
        for line in about.split(separator: UInt8(ascii: "\n")).map(words) where line.count == 2 {
            if line[0] == "ino:" { inodes.append(line[1]) }
            guard line[0] == "mnt_id:" else { continue }
            for mount in mounts.split(separator: UInt8(ascii: "\n")).map(words)
            where mount.count > 2 && mount[0] == line[1] {
                let numbers = mount[2].split(separator: ":").compactMap { UInt($0) }
                if numbers.count == 2 { devices.append((numbers[0], numbers[1])) }
            }
        }
        let names = devices.flatMap { device in
            inodes.map { "\(hexadecimal(device.0)):\(hexadecimal(device.1)):\($0)" }
        }
        return Set(names)
    }

    private static func words(_ line: ArraySlice<UInt8>) -> [String] {
        line.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
            .map { String(decoding: $0, as: UTF8.self) }
    }

    // As the macros of makedev(3), which are not imported.
    private static func major(_ device: UInt) -> UInt {
        device >> 8 & 0xFFF | device >> 32 & ~0xFFF
    }
    private static func minor(_ device: UInt) -> UInt { device & 0xFF | device >> 12 & ~0xFF }

    /// Two digits at least, as the kernel writes it.
    private static func hexadecimal(_ number: UInt) -> String {
        (number < 16 ? "0" : "") + String(number, radix: 16)
    }
}
