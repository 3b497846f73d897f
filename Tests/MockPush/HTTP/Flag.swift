/// One flag: its name, its value, and its effect.
struct Flag<Options> {
    let name: String
    let takes: String
    let does: String
    /// False for a value that means nothing.
    let set: (inout Options, String) -> Bool

    /// Its row in the help.
    var line: String {
        let head = "    \(name) \(takes)"
        let gap = max(1, 36 - head.count)
        return head + String(repeating: " ", count: gap) + does + "\n"
    }

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

    static func port(
        _ name: String, _ does: String, _ place: WritableKeyPath<Options, UInt16>
    ) -> Flag {
        Flag(name: name, takes: "N", does: does) { options, value in
            guard let port = UInt16(value) else { return false }
            options[keyPath: place] = port
            return true
        }
    }

    /// `N:STATUS[:REASON[:RETRY-AFTER]]`, repeatable.
    static func counted(
        _ name: String, _ does: String,
        _ add: @escaping (inout Options, Int, ScriptedAnswer) -> Void
    ) -> Flag {
        Flag(name: name, takes: "N:ANSWER", does: does) { options, value in
            let parts = value.split(separator: ":", omittingEmptySubsequences: false)
            guard let count = Int(parts[0]), count > 0,
                let answer = ScriptedAnswer(parts.dropFirst())
            else { return false }
            add(&options, count, answer)
            return true
        }
    }

    static func answer(
        _ name: String, _ does: String, _ place: WritableKeyPath<Options, ScriptedAnswer?>
    ) -> Flag {
        Flag(name: name, takes: "ANSWER", does: does) { options, value in
            options[keyPath: place] = ScriptedAnswer(value)
            return options[keyPath: place] != nil
        }
    }
}

/// The flags of `CommonOptions`.
enum CommonFlags<Options: ServiceOptions> {
    static func rows() -> [Flag<Options>] { general + faults }

    private static var general: [Flag<Options>] {
        [
            .port("--port", "0: any free one; the first line says which", \.common.port),
            .text(
                "--certificate", "FILE", "PEM chain; with --key FILE, TLS",
                \.common.certificate),
            .text("--key", "FILE", "its key", \.common.key),
            .yes("--without-h2", "ALPN never selects HTTP/2", \.common.withoutHTTP2),
            .number("--latency", "MS", "from request to answer, never less", \.common.latency),
            .number("--streams", "N", "concurrent streams (1000)", \.common.streams),
            .number(
                "--exit-at", "N", "report and end after N distinct deliveries", \.common.exitAt),
            .text("--report", "FILE", "writes the report to a file, too", \.common.report),
        ]
    }

    private static var faults: [Flag<Options>] {
        [
            .counted("--answer", "at every Nth proper request; may be repeated") {
                $0.common.answers.append(($1, $2))
            },
            .counted("--answer-first", "to the first N proper requests; may be repeated") {
                $0.common.firstAnswers.append(($1, $2))
                $0.common.firstAnswers.sort { $0.count < $1.count }
            },
            .answer("--answer-all", "to every proper request", \.common.answerAll),
            Flag(
                name: "--answer-to", takes: "BEGINNING=ANSWER",
                does: "to what begins so; may be repeated"
            ) { options, value in
                guard let split = value.lastIndex(of: "="), split != value.startIndex,
                    let answer = ScriptedAnswer(String(value[value.index(after: split)...]))
                else { return false }
                options.common.subjectAnswers.append((Array(value[..<split].utf8), answer))
                return true
            },
            .number(
                "--stall-at", "N", "that connection falls silent for --stall-seconds",
                \.common.stallAt),
            .number("--stall-seconds", "S", "(5)", \.common.stallSeconds),
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
