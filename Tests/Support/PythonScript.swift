import Foundation

/// Scripts of Python, whose libraries are readers of our formats that are not ours.
package enum PythonScript {
    /// Whether Python has these modules.
    package static func has(_ modules: String) -> Bool { (try? run("import \(modules)")) == 0 }

    /// Whether it can make terminals, for which /dev/pts must be mounted.
    package static var hasTerminals: Bool { (try? run("import pty; pty.openpty()")) == 0 }

    /// - Returns: the exit status of the script.
    package static func run(_ script: String, _ arguments: [String] = []) throws -> Int32 {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["python3", "-c", script] + arguments
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        process.standardInput = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        return process.terminationStatus
    }
}
