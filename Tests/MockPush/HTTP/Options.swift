/// An answer that a flag asks for: `STATUS[:REASON[:RETRY-AFTER]]`.
struct ScriptedAnswer {
    var status: Int
    var reason = ""
    /// Seconds.
    var retryAfter: Int?

    init?(_ parts: some Sequence<Substring>) {
        let parts = Array(parts)
        // A reason goes into JSON as it is.
        guard (1...3).contains(parts.count), let status = Int(parts[0]),
            (200...999).contains(status),
            parts.count < 2
                || parts[1].allSatisfy({ $0.isASCII && ($0.isLetter || "_-".contains($0)) })
        else { return nil }
        self.status = status
        if parts.count > 1 { reason = String(parts[1]) }
        guard parts.count > 2 else { return }
        guard let seconds = Int(parts[2]), (0...86_400).contains(seconds) else { return nil }
        retryAfter = seconds
    }

    init?(_ text: String) {
        self.init(text.split(separator: ":", omittingEmptySubsequences: false))
    }
}

/// The flags of every service.
struct CommonOptions {
    var port: UInt16 = 0
    var certificate: String?
    var key: String?
    var withoutHTTP2 = false

    /// Milliseconds.
    var latency = 0
    var streams = 1000
    /// While this file exists no more answers leave than the number in it.
    var hold: String?

    // Faults; 0 is never.
    var goAwayEvery = 0
    var resetEvery = 0
    var refuseEvery = 0
    var garbageAt = 0
    /// At every so many proper requests.
    var answers: [(Int, ScriptedAnswer)] = []
    /// To the first so many.
    var firstAnswers: [(Int, ScriptedAnswer)] = []
    /// To subjects with this prefix.
    var subjectAnswers: [(prefix: [UInt8], answer: ScriptedAnswer)] = []
    var answerAll: ScriptedAnswer?
}

/// One flag: its name, its value, and its effect.
struct Flag<Options> {
    let name: String
    let takes: String
    let does: String
    /// False for a value that means nothing.
    let set: (inout Options, String) -> Bool

    static func number(
        _ name: String, _ takes: String, _ does: String, _ place: WritableKeyPath<Options, Int>
    ) -> Flag {
        Flag(name: name, takes: takes, does: does) { options, value in
            guard let number = Int(value), (0...0x7FFF_FFFF).contains(number) else { return false }
            options[keyPath: place] = number
            return true
        }
    }

    static func text(
        _ name: String, _ takes: String, _ does: String,
        _ place: WritableKeyPath<Options, String?>
    ) -> Flag {
        Flag(name: name, takes: takes, does: does) { options, value in
            options[keyPath: place] = value
            return !value.isEmpty
        }
    }

    static func yes(
        _ name: String, _ does: String, _ place: WritableKeyPath<Options, Bool>
    ) -> Flag {
        Flag(name: name, takes: "yes", does: does) { options, value in
            options[keyPath: place] = value == "yes"
            return value == "yes" || value == "no"
        }
    }

    /// `N:ANSWER`, repeatable.
    static func counted(
        _ name: String, _ does: String,
        _ place: WritableKeyPath<Options, [(Int, ScriptedAnswer)]>
    ) -> Flag {
        Flag(name: name, takes: "N:ANSWER", does: does) { options, value in
            let parts = value.split(separator: ":", omittingEmptySubsequences: false)
            guard let count = Int(parts[0]), count > 0,
                let answer = ScriptedAnswer(parts.dropFirst())
            else { return false }
            options[keyPath: place].append((count, answer))
            return true
        }
    }

    /// What begins so gets an answer of its own; `separator` stands between both.
    static func subject(
        _ name: String, separator: Character, _ place: WritableKeyPath<Options, CommonOptions>
    ) -> Flag {
        Flag(
            name: name, takes: "BEGINNING\(separator)ANSWER",
            does: "to what begins so; may be repeated"
        ) { options, value in
            let split =
                separator == ":" ? value.firstIndex(of: ":") : value.lastIndex(of: separator)
            guard let split, split != value.startIndex,
                let answer = ScriptedAnswer(String(value[value.index(after: split)...]))
            else { return false }
            options[keyPath: place].subjectAnswers.append((Array(value[..<split].utf8), answer))
            return true
        }
    }
}

/// The options of a service.
protocol ServiceOptions {
    var common: CommonOptions { get set }
    init()
    /// The first words of its help.
    static var about: String { get }
    static var flags: [Flag<Self>] { get }
}

extension ServiceOptions {
    /// Nil after a flag or value that is not in the table.
    init?(_ arguments: [String]) {
        self.init()
        var rest = arguments[...]
        while let name = rest.popFirst() {
            guard let flag = (Self.flags + Self.shared).first(where: { $0.name == name }),
                let value = rest.popFirst(), flag.set(&self, value)
            else { return nil }
        }
        guard (common.certificate == nil) == (common.key == nil) else { return nil }
    }

    static var usage: String {
        about + "\n  Its own flags\n" + rows(flags) + "  And what all services take\n"
            + rows(shared)
    }

    private static func rows(_ flags: [Flag<Self>]) -> String {
        flags.map { flag in
            let head = "    \(flag.name) \(flag.takes)"
            return head + String(repeating: " ", count: max(1, 36 - head.count)) + flag.does + "\n"
        }.joined()
    }

    private static var shared: [Flag<Self>] {
        [
            Flag(name: "--port", takes: "N", does: "0: any free one; the first line says which") {
                guard let port = UInt16($1) else { return false }
                $0.common.port = port
                return true
            },
            .text("--certificate", "FILE", "PEM chain; with --key, TLS", \.common.certificate),
            .text("--key", "FILE", "its key", \.common.key),
            .yes("--without-h2", "ALPN never selects HTTP/2", \.common.withoutHTTP2),
            .number("--latency", "MS", "from request to answer, never less", \.common.latency),
            .number("--streams", "N", "concurrent streams (1000)", \.common.streams),
            .text(
                "--hold", "FILE", "while it exists only as many answers leave as it says",
                \.common.hold),
            .counted("--answer", "at every Nth proper request; may be repeated", \.common.answers),
            .counted(
                "--answer-first", "to the first N proper requests; may be repeated",
                \.common.firstAnswers),
            Flag(name: "--answer-all", takes: "ANSWER", does: "to every proper request") {
                $0.common.answerAll = ScriptedAnswer($1)
                return $0.common.answerAll != nil
            },
            .subject("--answer-to", separator: "=", \.common),
            .number(
                "--garbage-at", "N", "bytes that are no answer, then the end", \.common.garbageAt),
            .number(
                "--goaway-every", "N", "GOAWAY; what follows is not looked at",
                \.common.goAwayEvery),
            .number(
                "--refuse-every", "N", "RST_STREAM REFUSED_STREAM, not delivered",
                \.common.refuseEvery),
            .number(
                "--reset-every", "N", "RST_STREAM after it was delivered", \.common.resetEvery),
        ]
    }
}
