import Foundation
import TestSupport
import Testing

/// What somebody who is not the person concerned gets out of the built program.
@Suite("What strangers get to know", .timeLimit(.minutes(5)))
struct StrangerTests {
    @Test("no answer tells whether a push token is registered already")
    func pushToken() async throws {
        let service = try await ServiceUnderTest()
        let person = TestDevice()
        let path = "/v1/registration"
        let registered = try service.send("PUT", path, token: person.token, body: person.body)
        func answers(to push: [UInt8]) throws -> [String] {
            let stranger = TestDevice(push: push)
            return try ["PUT", "PUT", "DELETE", "DELETE"].map { method in
                let body = method == "PUT" ? stranger.body : []
                let answer = try service.send(method, path, token: stranger.token, body: body)
                return answer.head.replacing(/Date: [^\r]*/, with: "") + answer.text
            }
        }
        #expect(registered.status == 204)
        #expect(try answers(to: person.push) == answers(to: TestDevice().push))
        // And what strangers do leaves the person's registration alone.
        let stored = try service.send("GET", path, token: person.token)
        #expect(stored.text.contains(person.pushText))
    }

    @Test("a crash writes no memory down: core dumps are off, and keys do not go to swap")
    func memory() async throws {
        let service = try await ServiceUnderTest()
        func lines(_ file: String) throws -> [Substring] {
            let path = "/proc/\(service.program.identifier)/\(file)"
            return try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
        }
        let core = try #require(try lines("limits").first { $0.hasPrefix("Max core file size") })
        #expect(core.split(separator: " ").suffix(3) == ["0", "0", "bytes"])
        let locked = try #require(try lines("status").first { $0.hasPrefix("VmLck:") })
        let kilobytes = locked.split { !$0.isNumber }.compactMap { Int($0) }
        #expect((kilobytes.first ?? 0) > 0)
        // proc(5): the files of a process that cannot be dumped belong to root.
        let environment = try FileManager.default.attributesOfItem(
            atPath: "/proc/\(service.program.identifier)/environ")
        #expect(environment[.ownerAccountID] as? Int == 0)
    }

    /// The toolchain's own: programs with Swift's runtime inside do not find it by themselves.
    private static let backtracer = InstalledPrograms.path("swift")
        .map { URL(filePath: $0).resolvingSymlinksInPath().deletingLastPathComponent() }
        .map { $0.appending(path: "../libexec/swift/linux/swift-backtrace").standardized.path }
        .flatMap { FileManager.default.isExecutableFile(atPath: $0) ? $0 : nil }

    private static let backtraces = [
        "SWIFT_BACKTRACE": "enable=yes,interactive=no,color=no"
            + (backtracer.map { ",swift-backtrace=\($0)" } ?? "")
    ]

    @Test(
        "a crash prints no memory, also where Swift's backtraces are switched on",
        arguments: [SIGILL, SIGTRAP, SIGABRT, SIGFPE, SIGBUS, SIGSEGV])
    func backtrace(signal: Int32) async throws {
        let service = try await ServiceUnderTest(environment: Self.backtraces)
        let client = try await ClientUnderTest(of: service)
        let running = try RunningProgram(
            "reveille-client", ["run", "--verbose", "--state", client.state],
            environment: Self.backtraces)
        _ = try await running.line(containing: "stream connected")
        for program in [running, service.program] {
            let said = program.output
            let limits = try String(
                contentsOfFile: "/proc/\(program.identifier)/limits", encoding: .utf8)
            #expect(limits.contains(/\nMax core file size +0 +0 +bytes/))
            program.signal(signal)
            #expect(await program.exit() == -signal)
            #expect(program.output.hasPrefix(said))
            let more = program.output.dropFirst(said.count).split(separator: "\n")
            #expect(more.allSatisfy { $0.hasPrefix("reveille") }, "\(more)")
        }
    }

    @Test(
        "the control: a program that does nothing about it prints what is in its registers",
        .enabled(if: backtracer != nil, "needs the backtracer of a toolchain"))
    func backtraceOfOthers() async throws {
        let mock = try RunningProgram("mock-push", [], environment: Self.backtraces)
        _ = try await mock.line(containing: "listening on")
        mock.signal(SIGSEGV)
        // Its last line: the backtracer of a program that is killed before waits for it for ever.
        _ = try await mock.line(containing: "Backtrace took")
        #expect(mock.output.contains("\nRegisters:"))
    }
}
