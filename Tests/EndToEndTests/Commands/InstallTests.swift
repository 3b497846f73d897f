import Foundation
import TestSupport
import Testing

@Suite("Deploy/install", .timeLimit(.minutes(5)))
struct InstallTests {
    private let root = Repository.root.path

    private func install(
        into directory: TemporaryDirectory, _ words: String...
    ) async throws -> (status: Int32, output: String) {
        try await RunningProgram.run(
            path: "/usr/bin/env",
            [
                "DESTDIR=\(directory.path)", "FROM=\(RunningProgram.folder.path)", "HOME=/h",
                root + "/Deploy/install",
            ] + words)
    }

    /// Every file below the directory, with its mode.
    private func files(_ directory: TemporaryDirectory) throws -> [String: Int] {
        var files: [String: Int] = [:]
        for name in try FileManager.default.subpathsOfDirectory(atPath: directory.path) {
            let attributes = try FileManager.default.attributesOfItem(
                atPath: directory.path + "/" + name)
            guard attributes[.type] as? FileAttributeType == .typeRegular else { continue }
            files[name] = attributes[.posixPermissions] as? Int
        }
        return files
    }

    @Test("everything lands where it belongs, twice the same, and goes again")
    func everything() async throws {
        let directory = try TemporaryDirectory()
        let first = try await install(into: directory)
        #expect(first.status == 0, "\(first.output)")
        let installed = try files(directory)
        var expected: [String: Int] = [:]
        for (program, section) in [("reveille", 8), ("reveille-client", 1)] {
            expected["usr/local/bin/\(program)"] = 0o755
            let share = "usr/local/share/"
            for name in [
                "man/man\(section)/\(program).\(section)",
                "bash-completion/completions/\(program)", "zsh/site-functions/_\(program)",
                "fish/vendor_completions.d/\(program).fish",
            ] { expected[share + name] = 0o644 }
        }
        expected["usr/local/share/man/man5/reveille.conf.5"] = 0o644
        for name in [
            "reveille.service", "reveille@.service",
            "reveille-feed.service", "reveille-feed.timer", "reveille-audit.service",
            "reveille-audit.timer", "reveille-witness.service", "reveille-feed-monitor.service",
            "reveille-feed-monitor.timer",
        ] {
            expected["usr/local/lib/systemd/system/" + name] = 0o644
        }
        for name in ["lib/libreveille.so.0", "lib/pkgconfig/reveille.pc", "include/reveille.h"] {
            expected["usr/local/" + name] = 0o644
        }
        let client =
            ["reveille-client.service"]
            + ["service", "timer"].map {
                "reveille-client-sync.\($0)"
            }
        for name in client { expected["usr/local/lib/systemd/user/" + name] = 0o644 }
        #expect(installed == expected)
        // What is installed works, and units name it.
        let program = directory.path + "/usr/local/bin/reveille-client"
        #expect(try await RunningProgram.run(path: program, ["--version"]).status == 0)
        let unit = try String(
            contentsOfFile: directory.path
                + "/usr/local/lib/systemd/user/reveille-client.service", encoding: .utf8)
        #expect(unit.contains("\nExecStart=/usr/local/bin/reveille-client run "))
        let libraries = directory.path + "/usr/local/lib/"
        let link = try FileManager.default.destinationOfSymbolicLink(
            atPath: libraries + "libreveille.so")
        #expect(link == "libreveille.so.0")
        let package = try String(
            contentsOfFile: libraries + "pkgconfig/reveille.pc", encoding: .utf8)
        #expect(package.contains("prefix=/usr/local\nlibdir=/usr/local/lib\n"))
        #expect(package.contains("\nVersion: 0.1.0\n") && !package.contains("@"))
        #expect(try await install(into: directory).status == 0)
        #expect(try files(directory) == expected)
        let own = directory.path + "/usr/local/bin/own"
        try "mine".write(toFile: own, atomically: true, encoding: .utf8)
        #expect(try await install(into: directory, "--uninstall").status == 0)
        #expect(Array(try files(directory).keys) == ["usr/local/bin/own"])
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: libraries).sorted()
                == ["pkgconfig", "systemd"])
        #expect(try await install(into: directory, "--uninstall").status == 0)
    }

    @Test("for oneself the client alone, below ~/.local")
    func user() async throws {
        let directory = try TemporaryDirectory()
        #expect(try await install(into: directory, "--user").status == 0)
        let names = try files(directory).keys
        #expect(names.count == 11)
        #expect(names.contains("h/.local/bin/reveille-client"))
        #expect(names.contains("h/.local/share/systemd/user/reveille-client-sync.timer"))
        // systemd.unit(5), "Specifiers": words are split before, so a home may have any name.
        for name in ["reveille-client.service", "reveille-client-sync.service"] {
            let unit = try String(
                contentsOfFile: directory.path + "/h/.local/share/systemd/user/" + name,
                encoding: .utf8)
            #expect(unit.contains("\nExecStart=%h/.local/bin/reveille-client "))
        }
        let wrong = try await install(into: directory, "--usr")
        #expect(wrong.status == 2 && wrong.output.contains("usage: Deploy/install"))
        #expect(try await install(into: directory, "--help").status == 0)
        #expect(try await install(into: directory, "--user", "--uninstall").status == 0)
        #expect(try files(directory).isEmpty)
    }
}
