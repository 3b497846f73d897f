private import Foundation

/// The `openssl` command: an implementation of keys, signatures and certificates that is not ours.
package enum OpenSSLCommand {
    /// Why tests that need it are skipped.
    package static let isInstalled = (try? run(["version"])) != nil

    /// Runs it to its end and returns what it said on standard output.
    @discardableResult
    package static func run(_ arguments: [String]) throws -> String {
        let (status, output) = try status(arguments)
        guard status == 0 else { throw TestFailure("openssl \(arguments[0]): status \(status)") }
        return output
    }

    /// The same, whatever its exit status.
    package static func status(_ arguments: [String]) throws -> (Int32, String) {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["openssl"] + arguments
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        process.standardInput = FileHandle.nullDevice
        try process.run()
        let said = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: said, as: UTF8.self))
    }
}
