private import Foundation

/// Programs of the machine that tests use when they are there.
package enum InstalledPrograms {
    /// Its path; nil when it is not installed.
    package static func path(_ name: String) -> String? {
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
        return (folders + ["/usr/bin", "/bin"]).map { "\($0)/\(name)" }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
    }
}
