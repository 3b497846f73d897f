import Glibc
import WakeFiles
import WakeServer

/// What `reveille check` says about the keys of registrations and how long they live.
enum StoreKeysOnPaper {
    static func place(_ configuration: Configuration) -> String {
        guard configuration.keysInMemory else { return configuration.keys }
        return "in memory: every start begins with an empty store; "
            + "clients come back within 2 days and 8 hours"
    }

    static func rotation(_ configuration: Configuration) -> String {
        let days = configuration.rotationDays
        return "every \(days) days of uptime: what is not renewed expires after \(days) to "
            + "\(2 * days) days"
    }

    /// A rotation replaces the file: its directory must be this user's to write.
    static func fault(_ path: String) -> String? {
        guard let status = try? FileStatus(of: Files.parent(of: path) ?? ".") else { return nil }
        let isOurs = geteuid() == 0 || (status.owner == geteuid() && status.mode & 0o300 == 0o300)
        return isOurs ? nil : "its directory must be this user's own: a rotation replaces the file"
    }
}
