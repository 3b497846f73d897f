import Foundation

/// Python's PyJWT: a reader of tokens that is not ours.
enum PyJWT {
    static let isInstalled = (try? run("import jwt, cryptography", [])) == 0

    /// - Returns: the exit status of the script.
    static func run(_ script: String, _ arguments: [String]) throws -> Int32 {
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
