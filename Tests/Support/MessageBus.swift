import Foundation
package import Testing

/// A message bus of a test's own: Debian's dbus-daemon, in a directory of its own.
package final class MessageBus: Sendable {
    private static let daemon = "/usr/bin/dbus-daemon"

    /// Why tests that need it are skipped.
    package static var isInstalled: Bool { FileManager.default.isExecutableFile(atPath: daemon) }
    package static let missing: Comment = "dbus-daemon is not installed"

    package let directory: TemporaryDirectory
    /// What `DBUS_SESSION_BUS_ADDRESS` says there.
    package let address: String
    private let program: RunningProgram

    /// - Parameters:
    ///   - services: programs that the bus starts for a name, with their arguments.
    ///   - environment: added to that of the bus, and so of the programs it starts.
    package init(
        services: [String: [String]] = [:], environment: [String: String] = [:]
    ) async throws {
        directory = try TemporaryDirectory()
        let folder = directory.path + "/services"
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: false)
        for (name, words) in services {
            let line = words.map { "\"\($0)\"" }.joined(separator: " ")
            try Data("[D-BUS Service]\nName=\(name)\nExec=\(line)\n".utf8)
                .write(to: URL(filePath: "\(folder)/\(name).service"))
        }
        let configuration = """
            <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
             "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
            <busconfig>
              <type>session</type>
              <listen>unix:path=\(directory.path)/bus</listen>
              <auth>EXTERNAL</auth>
              <servicedir>\(folder)</servicedir>
              <policy context="default">
                <allow send_destination="*" eavesdrop="true"/>
                <allow eavesdrop="true"/>
                <allow own="*"/>
              </policy>
              <!-- As in the session.conf that comes with it. -->
              <limit name="max_incoming_bytes">1000000000</limit>
              <limit name="max_outgoing_bytes">1000000000</limit>
              <limit name="max_message_size">1000000000</limit>
              <limit name="auth_timeout">600000</limit>
              <limit name="service_start_timeout">600000</limit>
              <limit name="max_replies_per_connection">50000</limit>
            </busconfig>
            """
        let file = directory.path + "/bus.conf"
        try Data(configuration.utf8).write(to: URL(filePath: file))
        program = try RunningProgram(
            path: "/usr/bin/env",
            environment.map { "\($0)=\($1)" } + [
                Self.daemon, "--config-file=\(file)", "--nofork", "--nopidfile",
                "--print-address",
            ])
        let line = try await program.line(containing: "unix:path=")
        address = String(line.split(separator: ",")[0])
    }

    /// The bus dies, at once.
    package func kill() { program.signal(SIGKILL) }
}

/// Python with an implementation of D-Bus that shares nothing with ours: jeepney, from PyPI.
package enum PythonBusPeer {
    /// Why tests that need it are skipped.
    package static let isInstalled: Bool = {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["python3", "-c", "import jeepney"]
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }()
    package static let missing: Comment = "Python's jeepney is not installed"

    /// A script that runs with `DBUS_SESSION_BUS_ADDRESS` set.
    package static func start(
        _ script: String, _ arguments: [String] = [], bus: MessageBus, input: [UInt8] = []
    ) throws -> RunningProgram {
        try RunningProgram(
            path: "/usr/bin/env",
            ["DBUS_SESSION_BUS_ADDRESS=\(bus.address)", "python3", "-u", "-c", script] + arguments,
            input: input)
    }
}
