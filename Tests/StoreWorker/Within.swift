private import Glibc
import StoreFaults

/// Becomes another program, in whose eyes a directory lies on a disk of its own: a tmpfs that only
/// it sees, with what is in the directory copied to it.
///
/// Words: directory, size such as "8m", path of the program, its arguments.
enum Within {
    /// Only returns when it failed; says `skipped ERRNO` when nothing can be mounted.
    static func run(_ words: [String]) -> Int32 {
        let directory = unsafe open(words[0], O_RDONLY | O_DIRECTORY)
        let number = unsafe wake_mount_private(words[0], words[1])
        guard number == 0 else {
            Line.write("skipped \(number)")
            return 77
        }
        // What lies below the mount is still reached by the open descriptor.
        let script = "cp -a /proc/self/fd/\(directory)/. \"$0\" && exec \"$@\""
        var arguments = unsafe (["sh", "-c", script, words[0]] + words[2...]).map {
            unsafe strdup($0)
        }
        unsafe arguments.append(nil)
        unsafe execv("/bin/sh", &arguments)
        return 127
    }
}
