import Reveille
import Synchronization
import WakeCommand
import WakeFeed
import WakeModel
import WakeSystem

/// Events as lines of JSON on standard output, acknowledgements as lines of JSON on standard input.
/// Members and events are added and never taken away.
final class EventLines: EventSink {
    enum Acknowledgement: Sendable, Equatable {
        case match(MatchID)
        case notUnderstood
    }

    /// Held while a line is written; true when standard output has failed.
    private let hasFailed = Mutex(false)
    private let end = AsyncEvent()
    private let isAbandoned = Atomic(false)

    var hasEnded: Bool { hasFailed.withLock { $0 } }

    /// Returns when standard output takes nothing more: its reader has gone.
    func waitForEnd() async { await end.wait() }

    /// The program ends: no line waits any more for a reader that takes none.
    func abandon() { isAbandoned.store(true, ordering: .relaxed) }

    func publish(_ match: Match) -> Bool {
        var text = JSONText()
        text.beginObject()
        text.member("event", string: "match")
        text.member("id", string: match.id.text)
        text.member("secret", string: match.secretID)
        if let note = match.noteBytes, (try? UTF8Span(validating: note.span)) != nil {
            text.member("note", string: note.span)
        } else {
            text.member("note", raw: "null")
            if let note = match.noteBytes {
                text.member("noteBase64url", string: Base64URL.encode(note.span).span)
            }
        }
        text.endObject()
        return write(text.bytes)
    }

    func publish(_ warning: Warning) {
        var text = JSONText()
        text.beginObject()
        text.member("event", string: "warning")
        text.member("code", string: warning.code)
        text.member("text", string: warning.phrase)
        text.endObject()
        _ = write(text.bytes)
    }

    func publish(_ status: ClientStatus) {
        _ = write(Array("{\"event\":\"status\",\(status.json.dropFirst())".utf8))
    }

    /// - Parameter code: a word that needs no escapes.
    func publish(error code: String) {
        _ = write(Array("{\"event\":\"error\",\"code\":\"\(code)\"}".utf8))
    }

    private func write(_ line: [UInt8]) -> Bool {
        hasFailed.withLock { hasFailed in
            let isOver = { [self] in isAbandoned.load(ordering: .relaxed) }
            if !hasFailed, Console().out(bytes: line + [0x0A], unless: isOver) { return true }
            if !isOver() {
                hasFailed = true
                end.signal()
            }
            return false
        }
    }

    /// The lines of standard input until it ends. Reads on a thread of its own.
    func acknowledgements() -> AsyncStream<Acknowledgement> {
        let (stream, lines) = AsyncStream.makeStream(of: Acknowledgement.self)
        do throws(SystemError) {
            try SystemThread.start {
                var reader = InputLines()
                while let line = reader.next() { lines.yield(Self.acknowledgement(line)) }
                lines.finish()
            }
        } catch { lines.finish() }
        return stream
    }

    /// `{"acknowledge":"ID"}`
    static func acknowledgement(_ line: [UInt8]) -> Acknowledgement {
        guard let text = JSONScanner.text(of: "acknowledge", in: line),
            let bytes = Hex.decode(text.span), let id = MatchID(bytes: bytes)
        else { return .notUnderstood }
        return .match(id)
    }
}
