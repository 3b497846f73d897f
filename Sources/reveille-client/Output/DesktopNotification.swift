import WakeClient
import WakeCommand
import WakeSystem
import WakeUnifiedPush

/// Reports by notifications of the desktop (specifications.freedesktop.org/notification-spec).
///
/// Lock screens and shared screens show notifications to others than the user: of a match they say
/// nothing but that there is one, unless the user asks for the note. The secret's name is shown
/// only with it, too.
struct DesktopNotification: Sendable {
    static let options: [Command.Option] = [
        .init("--notify", "show every match and warning as a notification of the desktop"),
        .init("--notify-note", "as --notify, with the note in it: lock screens may show it, too"),
    ]

    private enum Urgency: UInt8 {
        case normal = 1
        case critical = 2
    }

    /// A notification server that does not answer is one that did not show it.
    private static let patience = Duration.seconds(10)

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
            text = NotificationText.plain(match.note) ?? "It matches the secret \(match.secretID)."
        }
        return await show(summary: "Reveille found a match", text, .critical)
    }

    /// - Returns: whether a server says that it shows it.
    func show(_ warning: Warning) async -> Bool {
        await show(summary: "Reveille: a warning", Report.warning(warning), .normal)
    }

    /// One connection each: they are rare, and a bus that came back is found again.
    private func show(summary: String, _ text: String, _ urgency: Urgency) async -> Bool {
        do throws(BusError) {
            let connection = try await BusConnection.session()
            defer { connection.close() }
            let answer = try await connection.call(
                Self.message("GetCapabilities"), timeout: Self.patience)
            let abilities = answer.body.first ?? .strings([])
            let isMarkup = Self.has(abilities, "body-markup")
            let hasBody = Self.has(abilities, "body")
            let shown = try await connection.call(
                Self.message(
                    "Notify",
                    [
                        .string("Reveille"), .uint32(0), .string(""),
                        .string(hasBody ? summary : "\(summary): \(text)"),
                        .string(isMarkup ? NotificationText.escaped(text) : text),
                        .strings([]), .options([("urgency", .byte(urgency.rawValue))]),
                        // It stays until the user has seen it.
                        .int32(0),
                    ]), timeout: Self.patience)
            // "The return value is a UINT32 that represents the notification", never 0.
            guard case .uint32(let identifier)? = shown.body.first else { return false }
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

    private static func has(_ abilities: BusValue, _ ability: String) -> Bool {
        guard case .array(_, let words) = abilities else { return false }
        return words.contains(.string(ability))
    }
}

/// A note as a desktop may show it: who publishes is trusted to wake, not to draw.
enum NotificationText {
    /// Characters of a note that are shown.
    private static let characters = 400

    /// The text without what no reader sees: controls, and marks that turn its direction around.
    /// Nil when it is no text, or nothing is left.
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
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            case "'": escaped += "&apos;"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}
