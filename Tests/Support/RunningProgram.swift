package import Foundation
private import Synchronization

/// One of the built programs as a child process, with everything it says kept.
package final class RunningProgram: Sendable {
    /// What is known of the program; its reader keeps this, not the program, alive.
    private final class Record: Sendable {
        let state = Mutex(State())

        func update(_ change: (inout State) -> Void) {
            let waiters = state.withLock { state in
                change(&state)
                state.changes += 1
                defer { state.waiters = [] }
                return state.waiters
            }
            for waiter in waiters { waiter() }
        }
    }

    private struct State {
        var output: [UInt8] = []
        var status: Int32?
        var end: ContinuousClock.Instant?
        var changes = 0
        var waiters: [@Sendable () -> Void] = []
    }

    package let identifier: Int32
    private let record = Record()

    /// - Parameters:
    ///   - name: `reveille` or `reveille-client`, from the folder the tests were built into.
    ///   - input: what it reads from standard input.
    package init(
        _ name: String, _ arguments: [String], input: [UInt8] = [],
        environment: [String: String] = [:]
    ) throws {
        let variables = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        let child = try ChildProcess(
            path: Self.folder.appending(path: name).path, arguments: arguments,
            environment: variables.map { "\($0)=\($1)" }, input: input)
        identifier = child.identifier
        Thread.detachNewThread { [record] in
            while let bytes = child.read() { record.update { $0.output += bytes } }
            let status = child.wait()
            record.update { ($0.status, $0.end) = (status, .now) }
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
        String(decoding: record.state.withLock { $0.output }, as: UTF8.self)
    }

    /// When it ended; nil while it runs.
    package var end: ContinuousClock.Instant? { record.state.withLock { $0.end } }

    /// Sends a signal so long from now, wherever the program is then.
    package func signal(_ number: Int32, after delay: Duration) {
        let nanoseconds = Int(delay / .nanoseconds(1))
        DispatchQueue.global().asyncAfter(deadline: .now() + .nanoseconds(nanoseconds)) {
            [self] in signal(number)
        }
    }

    /// Does nothing once the program has ended.
    package func signal(_ number: Int32) {
        record.state.withLock { if $0.status == nil { kill(identifier, number) } }
    }

    /// Waits until the program has said `text`, and returns the first line that has it.
    /// - Throws: when it ends without.
    package func line(containing text: String) async throws -> String {
        while true {
            let (said, status, changes) = record.state.withLock {
                ($0.output, $0.status, $0.changes)
            }
            let lines = String(decoding: said, as: UTF8.self)
                .split(separator: "\n", omittingEmptySubsequences: false).dropLast()
            if let line = lines.first(where: { $0.contains(text) }) { return String(line) }
            if status != nil { throw TestFailure("ended without saying \(text):\n\(output)") }
            await change(after: changes)
        }
    }

    /// Waits for the end; a negative number is the signal that killed it.
    package func exit() async -> Int32 {
        while true {
            let (status, changes) = record.state.withLock { ($0.status, $0.changes) }
            if let status { return status }
            await change(after: changes)
        }
    }

    /// Waits until more has happened than the first `seen` changes.
    private func change(after seen: Int) async {
        await withCheckedContinuation { continuation in
            let changed = record.state.withLock { state in
                if state.changes != seen { return true }
                state.waiters.append { continuation.resume() }
                return false
            }
            if changed { continuation.resume() }
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
}
