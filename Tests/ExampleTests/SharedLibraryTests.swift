import Foundation
import Reveille
import TestSupport
import Testing

@Suite(
    "libreveille, for programs in C and every language that calls C", .timeLimit(.minutes(5)),
    .enabled(if: !Sanitizer.isActive, "programs without the sanitizer cannot load it"))
struct SharedLibraryTests {
    /// The functions that reveille.h declares.
    private static func declared() throws -> [String] {
        try Repository.text(SharedLibrary.header).split(separator: "\n").compactMap { line in
            line.firstMatch(of: /^(?:int |void |const char \*)(reveille_\w+)\(/)
                .map { String($0.1) }
        }.sorted()
    }

    @Test("it exports the functions of reveille.h and nothing else, under its name")
    func symbols() async throws {
        let names = try await RunningProgram.run(
            path: "/usr/bin/env", ["nm", "--dynamic", "--defined-only", SharedLibrary.built])
        let exported = names.output.split(separator: "\n").map {
            String($0.split(separator: " ").last ?? "")
        }
        #expect(try exported == Self.declared())
        #expect(exported.count == 22)
        let dynamic = try await RunningProgram.run(
            path: "/usr/bin/env", ["readelf", "--dynamic", "--wide", SharedLibrary.built])
        #expect(dynamic.output.contains("Library soname: [libreveille.so.0]"))
        #expect(dynamic.output.contains("NODELETE"))
        let needed = dynamic.output.matches(of: /\(NEEDED\).*\[(.+?)\.so/).map { String($0.1) }
        let expected: Set = [
            "libsqlite3", "libsodium", "libm", "libstdc++", "libgcc_s", "libc",
        ]
        // No Swift, and what is loaded at run time is not linked to.
        #expect(Set(needed.filter { !$0.hasPrefix("ld-") }) == expected)
    }

    @Test(
        "the header alone compiles strictly as C99, C11 and C++",
        .enabled(if: SharedLibrary.compiler != nil, "no compiler for C"),
        arguments: [["c", "c99"], ["c", "c11"], ["c++", "c++11"], ["c++", "c++20"]])
    func header(_ language: [String]) async throws {
        let made = try await SharedLibrary.compile(
            SharedLibrary.header,
            ["-fsyntax-only", "-std=\(language[1])"], language: language[0])
        #expect(made.status == 0, "\(made.output)")
    }

    @Test(
        "in C with poll(2), a match that a kill left is told again, and then once",
        .enabled(if: SharedLibrary.compiler != nil, "no compiler for C"))
    func lifeInC() async throws {
        let library = try await SharedLibrary()
        try await WatchedLife(library, [try await library.compileExample()]).run()
    }

    @Test("in Python with ctypes and asyncio, the same")
    func lifeInPython() async throws {
        let script = Repository.absolute("Tests/Examples/Python/watch.py")
        try await WatchedLife(SharedLibrary(), ["python3", script]).run()
    }

    @Test(
        "in the loop of GLib, the same",
        .enabled(if: SharedLibrary.pythonWithGLib != nil, "no python3-gi"))
    func lifeInGLib() async throws {
        let script = Repository.absolute("Tests/LibraryUse/glib.py")
        let python = SharedLibrary.pythonWithGLib ?? "python3"
        try await WatchedLife(SharedLibrary(), [python, script]).run()
    }

    @Test(
        "valgrind finds no error and no lost memory in the same life",
        .enabled(if: SharedLibrary.checker != nil, "no valgrind, or no strip, or a sanitizer"),
        .enabled(if: SharedLibrary.compiler != nil, "no compiler for C"))
    func clean() async throws {
        let library = try await SharedLibrary(isStripped: true)
        let program = try await library.compileExample()
        let checker = [
            SharedLibrary.checker ?? "", "--quiet", "--error-exitcode=99", "--leak-check=full",
            "--show-leak-kinds=definite", "--errors-for-leak-kinds=definite",
            "--suppressions=" + Repository.absolute("Tests/LibraryUse/valgrind.supp"), program,
        ]
        try await WatchedLife(library, checker).run()
    }

    @Test(
        "the shortest programs are those that Deploy/LIBRARY.md shows, and they tell",
        arguments: ["C/hello.c", "Python/hello.py"])
    func shortest(_ name: String) async throws {
        let language = name.hasSuffix(".c") ? "c" : "python"
        let code = try Repository.text("Tests/Examples/" + name)
        #expect(try Repository.text("Deploy/LIBRARY.md").contains("```\(language)\n\(code)```\n"))
        let (service, library) = (try await ServiceUnderTest(), try await SharedLibrary())
        let directory = try TemporaryDirectory()
        var words = ["python3", Repository.absolute("Tests/Examples/" + name)]
        if language == "c" {
            guard SharedLibrary.compiler != nil else { return }
            words = [try await library.compileExample("hello")]
        }
        try await service.publish(Array("a secret of this device, the first".utf8), note: "hello")
        let program = try library.start(
            words + [service.url + "/feed/", service.feedKey, service.url]
                + [directory.path + "/state"])
        _ = try await program.line(containing: "this concerns you: visit hello")
    }

    @Test(
        "a distributor of UnifiedPush wakes it, and is given up with the registration",
        .enabled(if: MessageBus.isInstalled, MessageBus.missing),
        .enabled(if: SharedLibrary.hasPythonWithDBus, "no python3-dbus or python3-gi"))
    func distributor() async throws {
        let service = try await ServiceUnderTest(
            sections: """

                [webpush]
                key = keys/vapid.key
                hosts = any
                """)
        let (bus, library) = (try await MessageBus(), try await SharedLibrary())
        let directory = try TemporaryDirectory()
        let secret = Array("a secret of this device, the first".utf8)
        let start = { (words: [String], input: [UInt8]) in
            try library.start(
                ["DBUS_SESSION_BUS_ADDRESS=" + bus.address, "/usr/bin/python3"] + words,
                input: input)
        }
        let scripts = Repository.absolute("Tests/LibraryUse")
        let distributor = try start(
            [scripts + "/distributor.py", "https://push.example.org/one"], [])
        _ = try await distributor.line(containing: "ready")
        let program = try start(
            [
                scripts + "/pushes.py", service.url + "/feed/", service.feedKey, service.url,
                directory.path + "/state",
            ], secret)
        _ = try await program.line(containing: "status: registered, 0 batches")
        // No stream, and no poll for hours.
        let published = try await service.command(
            "feed", "publish", "-", "--secrets",
            input: secret.flatMap { Array(String(format: "%02x", $0).utf8) })
        #expect(published.status == 0, "\(published.output)")
        distributor.signal(SIGUSR1)
        _ = try await program.line(containing: "this concerns you: visit")
        program.signal(SIGUSR1)
        _ = try await program.line(containing: "status: not registered, 1 batches")
        _ = try await distributor.line(containing: "unregistered")
        program.signal(SIGTERM)
        #expect(await program.exit() == 0, "\(program.output)")
    }

    @Test("whatever it is called with, from wherever and whenever, it answers with an error")
    func misuse() async throws {
        let service = try await ServiceUnderTest()
        let secret = Array("a secret of this device, the first".utf8)
        try await service.publish(secret)
        let directory = try TemporaryDirectory()
        let script = Repository.absolute("Tests/LibraryUse/use.py")
        let library = try await SharedLibrary()
        let program = try library.start(
            [
                "python3", "-X", "faulthandler", script, service.url + "/feed/", service.feedKey,
                service.url, directory.path + "/state", "1",
            ], input: secret)
        let status = await program.exit()
        #expect(status == 0 && program.output.hasSuffix("sound\n"), "\(status) \(program.output)")
    }
}

/// A program that watches a feed by the library: woken, killed, started again.
private struct WatchedLife {
    private let library: SharedLibrary
    private let words: [String]

    /// - Parameter words: the program, which takes FEED KEY SERVICE DIRECTORY NAME [later].
    init(_ library: SharedLibrary, _ words: [String]) {
        self.library = library
        self.words = words
    }

    func run() async throws {
        let service = try await ServiceUnderTest()
        let directory = try TemporaryDirectory()
        let secret = Array("a secret of this device, the first".utf8)
        let all: [String] =
            words + [
                service.url + "/feed/", service.feedKey, service.url, directory.path + "/state",
                "visit",
            ]
        let start = { (more: [String], input: [UInt8]) in
            try library.start(all + more, input: input)
        }
        // Found, and not acknowledged when it is killed.
        let first = try start(["later"], secret)
        _ = try await first.line(containing: ": connected, 0 batches checked")
        try await service.publish(secret)
        let left = try await first.line(containing: "left for later: visit ")
        first.signal(SIGKILL)
        _ = await first.exit()
        // Found before, and another one by a wake.
        let second = try start([], [])
        let told = try await second.line(containing: "this concerns you: visit ")
        #expect(told.split(separator: " ").suffix(1) == left.split(separator: " ").suffix(1))
        _ = try await second.line(containing: ": connected, 1 batches checked, 0 matches waiting")
        try await service.publish(secret, note: "again")
        _ = try await second.line(containing: "2 batches checked, 0 matches waiting")
        second.signal(SIGKILL)
        _ = await second.exit()
        let lines = second.output.split(separator: "\n").filter { $0.contains("concerns you") }
        #expect(lines.count == 2 && lines[1].hasSuffix(" again"), "\(lines)")
        // Told, and not again.
        let third = try start([], [])
        _ = try await third.line(containing: ": connected, 2 batches checked, 0 matches waiting")
        third.signal(SIGTERM)
        #expect(await third.exit() == 0, "\(third.output)")
        #expect(!third.output.contains("concerns you"), "\(third.output)")
        // The feed ends, and the client by itself, with a warning before.
        let retired = try await service.command("feed", "directives", "--retire", "--yes")
        #expect(retired.status == 0, "\(retired.output)")
        let last = try start([], [])
        _ = try await last.line(containing: "warning: retired")
        _ = try await last.line(containing: "ended: no error")
        last.signal(SIGTERM)
        _ = await last.exit()
    }
}
