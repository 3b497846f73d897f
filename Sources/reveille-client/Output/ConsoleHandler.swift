import Reveille
import Synchronization
import WakeCommand
import WakeFeed
import WakeModel
import WakeSystem

/// Reports matches and warnings on the standard streams, or to programs, and to the desktop.
final class ConsoleHandler: MatchHandler {
    /// Standard output, the program or the desktop did not take a match.
    struct NotDelivered: Error {}

    /// A match that was shown on the desktop, or else that the program has handled.
    private struct Acceptance: Hashable {
        let match: String
        let isShown: Bool
    }

    private let onMatch: [String]
    private let onWarning: [String]
    private let desktop: DesktopNotification?
    private let quiet: Bool
    private let publisher: EventPublisher?
    private let delivered = Mutex<[Match]>([])
    /// Matches that the program or the desktop accepted and the other one did not.
    private let accepted = Mutex<Set<Acceptance>>([])
    private let outputFailed = Atomic(false)

    /// - Parameters:
    ///   - onMatch: a program's path, or a command line split at spaces; else standard output.
    ///   - desktop: shows matches and warnings as well; both must succeed.
    ///   - quiet: collects, and leaves standard output alone.
    ///   - publisher: publishes matches and warnings as well; all ways must succeed.
    init(
        onMatch: String? = nil, onWarning: String? = nil, desktop: DesktopNotification? = nil,
        quiet: Bool = false, publisher: EventPublisher? = nil
    ) {
        self.publisher = publisher
        self.desktop = desktop
        self.onMatch = Self.arguments(onMatch)
        self.onWarning = Self.arguments(onWarning)
        self.quiet = quiet
    }

    private static func arguments(_ line: String?) -> [String] {
        guard let line else { return [] }
        // Homes may have spaces in their names.
        if line.hasPrefix("/"), Files.exists(line) { return [line] }
        return line.split(separator: " ").map(String.init)
    }

    /// Checks that the programs are there: a match is no time to find out.
    func checkPrograms() throws(CommandFailure) {
        for (option, words) in [("--on-match", onMatch), ("--on-warning", onWarning)] {
            guard let program = words.first, let obstacle = Subprocess.obstacle(to: program)
            else { continue }
            throw CommandFailure(
                "the program of \(option) cannot be executed: \(program): \(obstacle.reason)",
                hint: "it must be a file that you may execute; `reveille-client test` tries it",
                status: .configuration)
        }
    }

    /// The matches delivered in this process.
    var matches: [Match] { delivered.withLock { $0 } }

    /// Standard output did not take a whole match: it is reported another time.
    var hasOutputFailed: Bool { outputFailed.load(ordering: .relaxed) }

    /// Matches are collected only, and delivered when the collection was written.
    var onlyCollects: Bool { quiet && onMatch.isEmpty && desktop == nil }

    func didFind(_ match: Match) async throws {
        // Not cut short by SIGTERM: a half delivered match would be delivered again.
        let delivery = Task {
            // Each is tried, whatever becomes of the other.
            let isRun = await run(match)
            let isShown = await show(match)
            return isRun && isShown
        }
        guard await delivery.value else { throw NotDelivered() }
        if let publisher, await !publisher.publish(match) { throw NotDelivered() }
        if onMatch.isEmpty, !quiet, !Console().out(bytes: line(match)) {
            outputFailed.store(true, ordering: .relaxed)
            throw NotDelivered()
        }
        accepted.withLock { $0 = $0.filter { $0.match != match.id.text } }
        delivered.withLock { $0.append(match) }
    }

    /// True when there is nothing to run, or it has succeeded before.
    private func run(_ match: Match) async -> Bool {
        if onMatch.isEmpty { return true }
        return await once(Acceptance(match: match.id.text, isShown: false)) {
            let variables = [
                "REVEILLE_MATCH_ID=\(match.id.text)", "REVEILLE_SECRET_ID=\(match.secretID)",
            ]
            let child = Subprocess(
                onMatch, adding: variables, input: match.noteBytes ?? [],
                output: quiet ? .standardError : .inherited)
            let end = await child.run(for: .seconds(30))
            return end.isSuccess
                ? nil : "the program of --on-match failed: \(end.phrase); it is run again later"
        }
    }

    /// True when there is nothing to show, or it was shown before.
    private func show(_ match: Match) async -> Bool {
        guard let desktop else { return true }
        return await once(Acceptance(match: match.id.text, isShown: true)) {
            await desktop.show(match)
                ? nil : "no notification could be shown; it is tried again later"
        }
    }

    /// - Parameter deliver: returns its failure in words; nil when it has succeeded.
    private func once(
        _ acceptance: Acceptance, _ deliver: () async -> String?
    ) async -> Bool {
        if accepted.withLock({ $0.contains(acceptance) }) { return true }
        if let failure = await deliver() {
            Console().error("reveille-client: \(failure)")
            return false
        }
        accepted.withLock { _ = $0.insert(acceptance) }
        return true
    }

    func didWarn(_ warning: Warning) async {
        if !onWarning.isEmpty {
            let child = Subprocess(
                onWarning, adding: ["REVEILLE_WARNING=\(warning.code)"],
                input: Array("\(warning.phrase)\n".utf8),
                output: quiet ? .standardError : .inherited)
            let end = await child.run(for: .seconds(30))
            if !end.isSuccess {
                Console().error(
                    "reveille-client: the program of --on-warning failed: \(end.phrase)")
            }
        }
        if let desktop { _ = await desktop.show(warning) }
        publisher?.publish(warning)
        Console().error("reveille-client: warning: \(warning.phrase)")
    }

    /// `match ID SECRET NOTE`, the note as JSON text so that it stays on its line.
    private func line(_ match: Match) -> [UInt8] {
        Array("match \(match.id.text) \(match.secretID) ".utf8) + Self.json(match.noteBytes) + [
            0x0A
        ]
    }

    /// A JSON string: the note's text, or its base64url after `base64url:` when it is no UTF-8;
    /// `null` without a note.
    static func json(_ note: [UInt8]?) -> [UInt8] {
        guard let note else { return Array("null".utf8) }
        let isText = (try? UTF8Span(validating: note.span)) != nil
        let content = isText ? note : Array("base64url:".utf8) + Base64URL.encode(note.span)
        var text = JSONText()
        text.member("", string: content.span)
        // Without the empty name and its colon.
        return Array(text.bytes.dropFirst(3))
    }
}
