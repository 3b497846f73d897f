import Reveille
import WakeCommand
import WakeSystem
import WakeUnifiedPush

/// Reports by notifications of the desktop (specifications.freedesktop.org/notification-spec).
///
/// Lock screens and shared screens show notifications to others than the user: of a match they say
/// only that there is one, unless the user asks for the note, and the secret's name with it.
struct DesktopNotification: Sendable {
    static let options: [Command.Option] = [
        .init("--notify", "show every match and warning as a notification of the desktop"),
        .init("--notify-note", "as --notify, with the note in it: lock screens may show it, too"),
    ]

    /// A notification server that does not answer in this time did not show it.
    private static let timeLimit = Duration.seconds(10)

    private let showsNote: Bool

    /// Nil when no notifications are asked for.
    init?(_ invocation: Invocation) {
        showsNote = invocation.flag("--notify-note")
        guard showsNote || invocation.flag("--notify") else { return nil }
    }

    /// - Returns: whether a server says that it shows it.
    func show(_ match: Match) async -> Bool {
        var text = "Something that was published matches a secret of yours."
        if showsNote {
            // A reader of the note may see the name.
            text =
                match.noteBytes.flatMap(NotificationText.plain)
                ?? "It matches the secret \(match.secretID)."
        }
        return await show(summary: "Reveille found a match", text, urgency: 2)
    }

    /// - Returns: whether a server says that it shows it.
    func show(_ warning: Warning) async -> Bool {
        await show(summary: "Reveille: a warning", warning.phrase, urgency: 1)
    }

    /// One connection each: they are rare, and a bus that came back is found again.
    /// - Parameter urgency: 1 for normal, 2 for critical ("Urgency Levels").
    private func show(summary: String, _ text: String, urgency: UInt8) async -> Bool {
        do throws(BusError) {
            let connection = try await BusConnection.session()
            defer { connection.close() }
            let answer = try await connection.call(
                Self.message("GetCapabilities"), timeout: Self.timeLimit)
            let hasBody = Self.has("body", answer)
            let shown = Self.has("body-markup", answer) ? NotificationText.escaped(text) : text
            let reply = try await connection.call(
                Self.message(
                    "Notify",
                    [
                        .string("Reveille"), .uint32(0), .string(""),
                        .string(hasBody ? summary : "\(summary): \(text)"),
                        .string(shown), .strings([]), .options([("urgency", .byte(urgency))]),
                        // It stays until the user has seen it.
                        .int32(0),
                    ]), timeout: Self.timeLimit)
            // "The return value is a UINT32 that represents the notification", never 0.
            guard case .uint32(let identifier)? = reply.body.first else { return false }
            return identifier != 0
        } catch {
            return false
        }
    }

    private static func message(_ member: String, _ body: [BusValue] = []) -> BusMessage {
        .call(
            "org.freedesktop.Notifications", path: "/org/freedesktop/Notifications",
            interface: "org.freedesktop.Notifications", member: member, body)
    }

    private static func has(_ ability: String, _ answer: BusMessage) -> Bool {
        guard case .array(_, let names)? = answer.body.first else { return false }
        return names.contains(.string(ability))
    }
}

/// A note as a desktop may show it: publishers are trusted to wake, not to draw.
enum NotificationText {
    /// Characters of a note that are shown.
    private static let characters = 400

    /// The text without controls and marks of direction; nil when nothing is left, or it is none.
    static func plain(_ note: [UInt8]) -> String? {
        guard let whole = try? UTF8Span(validating: note.span) else { return nil }
        let text = String(copying: whole)
        var shown = String.UnicodeScalarView()
        var isCut = false
        for scalar in text.unicodeScalars where isVisible(scalar) {
            isCut = shown.count == characters
            if isCut { break }
            shown.append(scalar)
        }
        guard shown.contains(where: { !$0.properties.isWhitespace }) else { return nil }
        return String(shown) + (isCut ? "…" : "")
    }

    private static func isVisible(_ scalar: Unicode.Scalar) -> Bool {
        // What joins letters or keeps them apart is format, too, and words need it.
        if scalar == "\n" || scalar == "\u{200C}" || scalar == "\u{200D}" { return true }
        switch scalar.properties.generalCategory {
        case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator,
            .paragraphSeparator:
            return false
        default: return true
        }
    }

    /// "Markup": what a server that understands it takes as it is.
    static func escaped(_ text: String) -> String {
        let entities: [Unicode.Scalar: String] = [
            "&": "&amp;", "<": "&lt;", ">": "&gt;", "\"": "&quot;", "'": "&apos;",
        ]
        return text.unicodeScalars.map { entities[$0] ?? String($0) }.joined()
    }
}
