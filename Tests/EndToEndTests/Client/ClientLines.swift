import TestSupport

/// Everything that `reveille-client run --verbose` may say, with numbers in place of `#`.
enum ClientLines {
    private static let events: Set<String> = [
        "started", "stopped", "stream connected", "stream ended, retry in # s", "cycle began",
        "cycle ended, # batches", "cycle failed: ?, retry in # s", "registered", "unregistered",
        "registration failed: ?, retry in # s", "delivery failed, retry in # s",
    ]
    private static let codes: Set<String> = [
        "network", "tls", "http-status", "truncated", "too-large", "bad-signature", "wrong-feed",
        "rollback", "fork", "corrupt-batch", "state", "locked", "disk-full", "configuration",
        "protocol-violation", "not-registered", "not-served", "still-registered", "secrets",
        "gateway-key", "relay",
    ]

    /// Lines of this program that are not on the list; warnings have one of their own.
    static func unknown(_ program: RunningProgram) -> [String] {
        let mark = "reveille-client: "
        return program.output.split(separator: "\n").map(String.init).filter { line in
            guard line.hasPrefix(mark) else { return true }
            let text = line.dropFirst(mark.count)
            if text.hasPrefix("warning: ") { return false }
            return !events.contains(pattern(String(text)))
        }
    }

    private static func pattern(_ text: String) -> String {
        var words: [String] = []
        for word in text.split(separator: " ") {
            let isNumber = word.allSatisfy(\.isNumber)
            let isCode = word.hasSuffix(",") && codes.contains(String(word.dropLast()))
            words.append(isNumber ? "#" : isCode ? "?," : String(word))
        }
        return words.joined(separator: " ")
    }
}
