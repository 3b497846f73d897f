import Foundation
import TestSupport

/// The built libreveille below the names that `Deploy/install` gives it, and programs that use it.
struct SharedLibrary {
    static let header = "Sources/CReveille/reveille.h"

    /// The file as the package manager names it.
    static let built = RunningProgram.folder.appending(path: "liblibreveille.so").path

    static let compiler = InstalledPrograms.path("clang") ?? InstalledPrograms.path("cc")

    /// Debian's valgrind 3.19 gives up on what the compiler writes for debuggers.
    static let checker =
        InstalledPrograms.path("strip") == nil ? nil : InstalledPrograms.path("valgrind")

    /// Debian's package python3-gi serves the system's Python alone.
    static let pythonWithGLib: String? = {
        let python = "/usr/bin/python3"
        let check = "import subprocess as s; s.run(['\(python)', '-c', 'import gi'], check=True)"
        return (try? PythonScript.run(check)) == 0 ? python : nil
    }()

    /// Debian's python3-dbus and python3-gi serve the system's Python alone.
    static let hasPythonWithDBus: Bool = {
        let check =
            "import subprocess as s; "
            + "s.run(['/usr/bin/python3', '-c', 'import gi, dbus'], check=True)"
        return (try? PythonScript.run(check)) == 0
    }()

    private let directory: TemporaryDirectory

    /// - Parameter isStripped: of what is for debuggers.
    init(isStripped: Bool = false) async throws {
        directory = try TemporaryDirectory()
        let path = directory.path + "/libreveille.so"
        if isStripped {
            let strip = InstalledPrograms.path("strip") ?? "strip"
            let made = try await RunningProgram.run(
                path: strip, ["--strip-debug", "-o", path, Self.built])
            guard made.status == 0 else { throw TestFailure(made.output) }
        } else {
            try FileManager.default.createSymbolicLink(
                atPath: path, withDestinationPath: Self.built)
        }
        try FileManager.default.createSymbolicLink(
            atPath: path + ".0", withDestinationPath: "libreveille.so")
    }

    /// Compiles an example in C.
    /// - Returns: the path of the program.
    func compileExample(_ name: String = "watch") async throws -> String {
        let program = directory.path + "/" + name
        let made = try await Self.compile(
            "Tests/Examples/C/\(name).c",
            ["-std=c99", "-o", program, "-L\(directory.path)", "-lreveille"])
        guard made.status == 0 else { throw TestFailure(made.output) }
        return program
    }

    /// Compiles a file of the repository with every warning as an error.
    static func compile(
        _ source: String, _ words: [String], language: String = "c"
    ) async throws -> (status: Int32, output: String) {
        let folder = URL(filePath: Repository.absolute(header)).deletingLastPathComponent().path
        return try await RunningProgram.run(
            path: compiler ?? "/usr/bin/cc",
            ["-Wall", "-Wextra", "-Werror", "-pedantic", "-I\(folder)"]
                + ["-x", language, Repository.absolute(source)] + words)
    }

    /// Starts a program that finds this library.
    func start(_ words: [String], input: [UInt8] = []) throws -> RunningProgram {
        try RunningProgram(
            path: "/usr/bin/env", ["LD_LIBRARY_PATH=\(directory.path)"] + words, input: input)
    }
}
