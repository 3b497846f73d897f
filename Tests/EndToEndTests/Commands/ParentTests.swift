import Glibc
import TestSupport
import Testing
import WakeSystem

@Suite("Directories above those of the service", .timeLimit(.minutes(5)))
struct ParentTests {
    /// A place with a directory in it, of this mode.
    private func place(mode: mode_t) throws -> (place: StorePlace, above: String) {
        let place = StorePlace()
        let above = place.path + "/above"
        try Files.makeDirectory(above)
        unsafe chmod(above, mode)
        return (place, above)
    }

    @Test("that others can write to are refused by init, check and serve, which name them")
    func open() async throws {
        let (place, above) = try place(mode: 0o777)
        defer { withExtendedLifetime(place) {} }
        let directory = above + "/service"
        let refused = try await RunningProgram.run("reveille", ["init", directory])
        #expect(refused.status != 0)
        #expect(refused.output.contains("chmod go-w \(above)"))
        unsafe chmod(above, 0o700)
        #expect(try await RunningProgram.run("reveille", ["init", directory]).status == 0)
        unsafe chmod(above, 0o777)
        for command in ["check", "serve"] {
            let run = try await RunningProgram.run(
                "reveille", [command, "--config", directory + "/reveille.conf"])
            #expect(run.status != 0, "\(command)")
            #expect(run.output.contains("chmod go-w \(above)"), "\(run.output)")
        }
    }

    @Test("of any mode for others: init does not begin in one")
    func itself() async throws {
        for mode in [0o777, 0o757] as [mode_t] {
            let (place, above) = try place(mode: mode)
            defer { withExtendedLifetime(place) {} }
            let refused = try await RunningProgram.run("reveille", ["init", above])
            #expect(refused.status == 78 && refused.output.contains("chmod go-w \(above)"))
            #expect(try Files.names(in: above).isEmpty)
        }
    }

    @Test("that their own group can write to are as good as others, another group's are not")
    func ofTheGroup() async throws {
        let (place, above) = try place(mode: 0o775)
        defer { withExtendedLifetime(place) {} }
        let directory = above + "/service"
        #expect(try await RunningProgram.run("reveille", ["init", directory]).status == 0)
        #expect(try Files.openParent(of: directory) == nil)
        // A group that is not that of the directory below. Only root gives files away.
        guard geteuid() == 0, unsafe chown(above, 0, 65_534) == 0 else { return }
        #expect(try Files.openParent(of: directory) == above)
    }

    @Test("that are links are as good as others: to init, check and serve")
    func linked() async throws {
        let place = StorePlace()
        try Files.makeDirectory(place.path + "/real")
        guard unsafe symlink(place.path + "/real", place.path + "/link") == 0 else {
            throw TestFailure("no link")
        }
        let directory = place.path + "/link/service"
        #expect(try await RunningProgram.run("reveille", ["init", directory]).status == 0)
        let file = directory + "/reveille.conf"
        let text = String(decoding: StorePlace.bytes(of: file), as: UTF8.self)
            .replacing("listen = 127.0.0.1:8080", with: "listen = 127.0.0.1:0")
        try Files.replace(file, with: Array(text.utf8).span)
        let check = try await RunningProgram.run("reveille", ["check", "--config", file])
        #expect(check.status == 0, "\(check.output)")
        let service = try RunningProgram("reveille", ["serve", "--config", file])
        _ = try await service.line(containing: "started port=")
        service.signal(SIGTERM)
        #expect(await service.exit() == 0, "\(service.output)")
    }
}
