package import Foundation
private import Synchronization

/// One of the built programs as a child process, with everything it says kept.
package final class RunningProgram: Sendable {
    private struct State {
        var output: [UInt8] = []
        var openPipes = 2
        var status: Int32?
        var changes = 0
        var waiters: [@Sendable () -> Void] = []

        var isOver: Bool { status != nil && openPipes == 0 }
    }

    private let process: Process
    private let state = Mutex(State())

    /// - Parameters:
    ///   - name: `reveille` or `reveille-client`, from the folder the tests were built into.
    ///   - input: what it reads from standard input.
    package init(
        _ name: String, _ arguments: [String], input: [UInt8] = [],
        environment: [String: String] = [:]
    ) throws {
        process = Process()
        process.executableURL = Self.folder.appending(path: name)
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        let pipes = (Pipe(), Pipe(), Pipe())
        process.standardInput = pipes.0
        process.standardOutput = pipes.1
        process.standardError = pipes.2
        process.terminationHandler = { [weak self] process in
            let killed = process.terminationReason == .uncaughtSignal
            self?.update {
                $0.status = killed ? -process.terminationStatus : process.terminationStatus
            }
        }
        for pipe in [pipes.1, pipes.2] {
            pipe.fileHandleForReading.readabilityHandler = { [weak self] handle in
                let data = handle.availableData
                if data.isEmpty { handle.readabilityHandler = nil }
                self?.update { state in
                    state.output += data
                    if data.isEmpty { state.openPipes -= 1 }
                }
            }
        }
        try process.run()
        try pipes.0.fileHandleForWriting.write(contentsOf: Data(input))
        try pipes.0.fileHandleForWriting.close()
    }

    deinit {
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
    }

    /// Where the test bundle and the programs were built.
    package static let folder: URL = {
        let test = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
        if FileManager.default.isExecutableFile(
            atPath: test.deletingLastPathComponent().appending(path: "reveille").path)
        {
            return test.deletingLastPathComponent()
        }
        // swift-testing's helper runs the bundle: its path is the last argument that names one.
        let bundle = CommandLine.arguments.last { $0.hasSuffix(".xctest") } ?? "."
        return URL(filePath: bundle).deletingLastPathComponent()
    }()

    package var identifier: Int32 { process.processIdentifier }

    /// Everything said so far, on both outputs.
    package var output: String {
        String(decoding: state.withLock { $0.output }, as: UTF8.self)
    }

    package func signal(_ number: Int32) {
        kill(process.processIdentifier, number)
    }

    /// Waits until the program has said `text`, and returns the first line that has it.
    /// - Throws: when it ends without.
    package func line(containing text: String) async throws -> String {
        while true {
            let (said, ended, changes) = state.withLock { ($0.output, $0.isOver, $0.changes) }
            let lines = String(decoding: said, as: UTF8.self)
                .split(separator: "\n", omittingEmptySubsequences: false).dropLast()
            if let line = lines.first(where: { $0.contains(text) }) { return String(line) }
            if ended { throw TestFailure("ended without saying \(text):\n\(output)") }
            await change(after: changes)
        }
    }

    /// Waits for the end; a negative number is the signal that killed it.
    package func exit() async -> Int32 {
        while true {
            let (status, ended, changes) = state.withLock { ($0.status, $0.isOver, $0.changes) }
            if ended, let status { return status }
            await change(after: changes)
        }
    }

    /// Waits until more has happened than the first `seen` changes.
    private func change(after seen: Int) async {
        await withCheckedContinuation { continuation in
            let changed = state.withLock { state in
                if state.changes != seen { return true }
                state.waiters.append { continuation.resume() }
                return false
            }
            if changed { continuation.resume() }
        }
    }

    private func update(_ change: (inout State) -> Void) {
        let waiters = state.withLock { state in
            change(&state)
            state.changes += 1
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter() }
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
}
