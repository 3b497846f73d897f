import TestSupport
import WakeModel
import WakeSQLite
import WakeStore

/// What a worker's lines promise, and what they leave open.
struct AcknowledgedModel {
    /// Version last acknowledged per token; 0 is nothing.
    private var known: [Int: Int] = [:]
    /// Versions asked for and not acknowledged since: any of them may have taken effect.
    private var open: [Int: Set<Int>] = [:]
    private(set) var acknowledged = 0
    /// Answers that were no acknowledgement, by their word.
    private(set) var refusals: [String: Int] = [:]
    private(set) var hasEnded = false

    mutating func read(_ line: String) {
        let words = line.split(separator: " ")
        switch words.first {
        case "try": open[Int(words[1]) ?? -1, default: []].insert(Int(words[2]) ?? -1)
        case "ok": settle(Int(words[1]) ?? -1)
        case "no": refusals[String(words[2]), default: 0] += 1
        case "end": hasEnded = true
        default: break
        }
    }

    private mutating func settle(_ number: Int) {
        acknowledged += 1
        // One operation is under way per token; older open ones are settled by a later one.
        if let latest = latest[number] { known[number] = latest }
        open[number] = nil
    }

    /// The version of the operation under way.
    private var latest: [Int: Int] = [:]

    mutating func note(_ line: String) {
        let words = line.split(separator: " ")
        if words.first == "try" { latest[Int(words[1]) ?? -1] = Int(words[2]) }
        read(line)
    }

    /// Compares an opened store with the promises and takes over what it finds.
    /// - Returns: tokens whose row is none of the allowed ones.
    mutating func compare(_ store: Store, tokens: Range<Int>) async -> [Int] {
        var wrong: [Int] = []
        for number in tokens {
            guard case .stored(let stored) = await store.ask(.read(Known.token(number))) else {
                wrong.append(number)
                continue
            }
            let allowed = open[number, default: []].union([known[number, default: 0]])
            let found = allowed.first { version in
                version == 0
                    ? stored == nil : stored?.token == Known.pushToken(number, version)
            }
            if let found { known[number] = found } else { wrong.append(number) }
        }
        open = [:]
        return wrong
    }
}

/// What must hold of the files after any end of a process.
enum Soundness {
    /// - Returns: what SQLite's own check says; `ok` when all is well. Only while no store is open.
    static func check(_ place: StorePlace) throws -> String? {
        try place.database().text("PRAGMA integrity_check")
    }
}
