import TestSupport
import WakeModel
import WakeStore
import WakeSystem

/// What a worker's lines promise, and what they leave open.
struct AcknowledgedModel {
    /// Version last acknowledged per token; 0 is nothing.
    private var known: [Int: Int] = [:]
    /// Versions asked for and not acknowledged since: any of them may have taken effect.
    private var open: [Int: Set<Int>] = [:]
    /// Version asked for last: one operation is under way per token.
    private var latest: [Int: Int] = [:]
    private(set) var acknowledged = 0
    /// Answers that were no acknowledgement, by their word.
    private(set) var refusals: [String: Int] = [:]
    /// Tokens whose delete was acknowledged with something of the row still in a file.
    private(set) var left: [Int] = []
    /// Calls of the kind that was to fail; nil when the worker did not get to its end.
    private(set) var calls: Int?
    /// Whether the worker could close its store.
    private(set) var hasEnded = false

    /// Tokens that nothing is stored under, and those that something is, by what was acknowledged.
    var deleted: [Int] { known.filter { $0.value == 0 && open[$0.key] == nil }.map(\.key) }
    var stored: [Int] { known.filter { $0.value != 0 && open[$0.key] == nil }.map(\.key) }

    mutating func note(_ line: String) {
        let words = line.split(separator: " ")
        let number = words.count > 1 ? Int(words[1]) ?? -1 : -1
        switch words.first {
        case "try":
            let version = Int(words[2]) ?? -1
            open[number, default: []].insert(version)
            latest[number] = version
        case "ok":
            acknowledged += 1
            known[number] = latest[number]
            open[number] = nil
        case "no": refusals[String(words[2]), default: 0] += 1
        case "left": left.append(number)
        case "calls": calls = number
        case "end": hasEnded = true
        default: break
        }
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
        for name in StorePlace.names(in: place.data) where name.hasSuffix(".db") {
            let database = try Database(path: place.data + "/" + name, access: .readWrite)
            let found = try database.text("PRAGMA integrity_check")
            if found != "ok" { return found }
        }
        return "ok"
    }
}
