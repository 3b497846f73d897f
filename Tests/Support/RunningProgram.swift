package import Foundation

/// One of the built programs as a child process, with everything it says kept.
package final class RunningProgram: Sendable {
    private struct State {
        var output: [UInt8] = []
        var status: Int32?
        var end: ContinuousClock.Instant?
    }

    package let identifier: Int32
    /// What is known of the program; its reader keeps this, not the program, alive.
    private let state = Observed(State())

    /// - Parameters:
    ///   - name: `reveille` or `reveille-client`, from the folder the tests were built into.
    ///   - input: what it reads from standard input.
    package convenience init(
        _ name: String, _ arguments: [String], input: [UInt8] = [],
        environment: [String: String] = [:]
    ) throws {
        try self.init(
            Self.folder.appending(path: name).path, arguments, input, environment,
            hasCleanSignals: false)
    }

    /// Any other program, by its path.
    package convenience init(
        path: String, _ arguments: [String], input: [UInt8] = []
    ) throws {
        try self.init(path, arguments, input, [:], hasCleanSignals: true)
    }

    private init(
        _ path: String, _ arguments: [String], _ input: [UInt8], _ environment: [String: String],
        hasCleanSignals: Bool
    ) throws {
        let variables = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        let child = try ChildProcess(
            path: path, arguments: arguments,
            environment: variables.map { "\($0)=\($1)" }, input: input,
            hasCleanSignals: hasCleanSignals)
        identifier = child.identifier
        Thread.detachNewThread { [state] in
            while let bytes = child.read() { state.update { $0.output += bytes } }
            let status = child.wait()
            state.update { ($0.status, $0.end) = (status, .now) }
        }
    }

    deinit { signal(SIGKILL) }

    /// Where the test bundle and the programs were built.
    package static let folder: URL = {
        let test = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
        let beside = test.deletingLastPathComponent()
        if FileManager.default.isExecutableFile(atPath: beside.appending(path: "reveille").path) {
            return beside
        }
        // The package manager's helper loads the bundle: its path is among the arguments.
        let bundle = CommandLine.arguments.last { $0.hasSuffix(".xctest") } ?? "."
        return URL(filePath: bundle).deletingLastPathComponent()
    }()

    /// Everything said so far, on both outputs.
    package var output: String {
        String(decoding: state.value.output, as: UTF8.self)
    }

    /// When it ended; nil while it runs.
    package var end: ContinuousClock.Instant? { state.value.end }

    /// Sends a signal so long from now, wherever the program is then.
    package func signal(_ number: Int32, after delay: Duration) {
        let nanoseconds = Int(delay / .nanoseconds(1))
        DispatchQueue.global().asyncAfter(deadline: .now() + .nanoseconds(nanoseconds)) {
            [self] in signal(number)
        }
    }

    /// Does nothing once the program has ended.
    package func signal(_ number: Int32) {
        state.update { if $0.status == nil { kill(identifier, number) } }
    }

    /// Runs `body` while no thread of the program runs: its files are then what a kill at this
    /// moment would leave, and none becomes shorter while it is read.
    package func whileStopped<Result>(_ body: () throws -> Result) throws -> Result {
        signal(SIGSTOP)
        defer { signal(SIGCONT) }
        while state.value.status == nil, !isStopped { sched_yield() }
        return try body()
    }

    /// proc(5), `/proc/pid/stat`: the state is what follows the name, which is in parentheses.
    private var isStopped: Bool {
        let threads = "/proc/\(identifier)/task/"
        let names = (try? FileManager.default.contentsOfDirectory(atPath: threads)) ?? []
        return names.allSatisfy { name in
            guard let line = try? String(contentsOfFile: threads + name + "/stat", encoding: .utf8)
            else { return true }
            return "TZX".contains(line.split(separator: ")").last?.dropFirst().first ?? "X")
        }
    }

    /// Waits until the program has said `text`, and returns the first line that has it.
    /// - Throws: when it ends without, or the test's time is over.
    package func line(containing text: String) async throws -> String {
        let line: String??
        do {
            line = try await state.first { state -> String?? in
                let lines = String(decoding: state.output, as: UTF8.self)
                    .split(separator: "\n", omittingEmptySubsequences: false).dropLast()
                if let line = lines.first(where: { $0.contains(text) }) { return String(line) }
                return state.status == nil ? .none : .some(nil)
            }
        } catch {
            throw TestFailure("never said \(text):\n\(output)")
        }
        guard case .some(.some(let line)) = line else {
            throw TestFailure("ended without saying \(text):\n\(output)")
        }
        return line
    }

    /// Waits until `find` has found something in everything said so far. What a program has
    /// said is read by another thread: that something followed from it does not mean that it is
    /// here.
    package func output<Result: Sendable>(where find: (String) -> Result?) async throws -> Result {
        try await state.first { find(String(decoding: $0.output, as: UTF8.self)) }
    }

    /// Waits for the end; a negative number is the signal that killed it. When the test's time is
    /// over first, kills it.
    package func exit() async -> Int32 {
        do {
            return try await state.first { $0.status }
        } catch {
            signal(SIGKILL)
            return -SIGKILL
        }
    }
}

extension RunningProgram {
    /// Runs a program to its end.
    /// - Returns: exit status and everything it said.
    package static func run(
        _ name: String, _ arguments: [String], input: [UInt8] = [],
        environment: [String: String] = [:]
    ) async throws -> (status: Int32, output: String) {
        let program = try RunningProgram(name, arguments, input: input, environment: environment)
        let status = await program.exit()
        return (status, program.output)
    }

    /// Runs any program, by its path, to its end.
    package static func run(
        path: String, _ arguments: [String], input: [UInt8] = []
    ) async throws -> (status: Int32, output: String) {
        let program = try RunningProgram(path: path, arguments, input: input)
        let status = await program.exit()
        return (status, program.output)
    }
}
