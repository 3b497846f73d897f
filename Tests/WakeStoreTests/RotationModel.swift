import TestSupport
import Testing
import WakeModel
import WakeStore

/// What a rotating worker's lines promise, and what they leave open.
///
/// A registration acknowledged in generation `g` must be there in `g` and, unless a rotation was
/// under way, in `g + 1`; in `g + 2` it must be gone.
struct RotationModel {
    private struct Candidate {
        /// 0 is nothing.
        let version: Int
        /// The generation it was written in lies between these.
        let earliest: UInt64
        let latest: UInt64
    }

    /// Last acknowledged per token.
    private var known: [Int: Candidate] = [:]
    /// Asked for and not acknowledged since.
    private var open: [Int: [Candidate]] = [:]
    /// Version asked for last, and the generation then.
    private var latest: [Int: (version: Int, generation: UInt64)] = [:]
    private var generation: UInt64 = 1
    private var isRotating = false
    private(set) var acknowledged = 0
    private(set) var rotations = 0
    private(set) var steps: Int?
    /// Calls of the kind that was to fail; nil when the worker did not get to its end.
    private(set) var calls: Int?
    /// Answers that were no acknowledgement, by their word.
    private(set) var refusals: [String: Int] = [:]
    /// Whether the worker could close its store.
    private(set) var hasEnded = false
    private(set) var others: [String] = []

    /// Tokens whose last operation was a delete that was acknowledged.
    var deleted: [Int] {
        known.filter { $0.value.version == 0 && open[$0.key] == nil }.map(\.key)
    }

    mutating func note(_ line: String) {
        let words = line.split(separator: " ")
        let number = words.count > 1 ? Int(words[1]) ?? -1 : -1
        switch words.first {
        case "try":
            let version = Int(words[2]) ?? -1
            let candidate = Candidate(version: version, earliest: generation, latest: .max)
            open[number, default: []].append(candidate)
            latest[number] = (version, generation)
        case "ok":
            acknowledged += 1
            guard let (version, earliest) = latest[number] else { return }
            known[number] = Candidate(
                version: version, earliest: earliest, latest: generation + (isRotating ? 1 : 0))
            open[number] = nil
        case "no": refusals[String(words[2]), default: 0] += 1
        case "rotating": isRotating = true
        case "unrotated": isRotating = false
        case "rotated":
            rotations += 1
            isRotating = false
            generation = UInt64(number)
        case "steps": steps = number
        case "calls": calls = number
        case "end": hasEnded = true
        case "open": break
        default: others.append(line)
        }
    }

    /// Compares an opened store with the promises and takes over what it finds.
    /// - Returns: what is wrong, by token.
    mutating func compare(_ store: Store, tokens: Range<Int>) async -> [String] {
        let now = store.generationNumber
        var wrong: [String] = []
        if now != generation, !(isRotating && now == generation + 1) {
            wrong.append("generation \(now) after \(generation)")
        }
        for number in tokens {
            guard case .stored(let stored) = await store.ask(.read(Known.token(number))) else {
                wrong.append("token \(number) cannot be read")
                continue
            }
            let nothing = Candidate(version: 0, earliest: 1, latest: 1)
            let candidates = open[number, default: []] + [known[number] ?? nothing]
            let isAllowed = candidates.contains { candidate in
                guard let stored else { return mayBeAbsent(candidate, now) }
                return candidate.version > 0
                    && stored.token == Known.pushToken(number, candidate.version)
                    && (candidate.latest == .max || candidate.latest + 1 >= now)
            }
            if !isAllowed {
                wrong.append(
                    "token \(number) is \(stored == nil ? "absent" : "there") in generation \(now)")
            }
            known[number] = found(number, stored, candidates, now)
        }
        open = [:]
        generation = now
        isRotating = false
        return wrong
    }

    private func mayBeAbsent(_ candidate: Candidate, _ now: UInt64) -> Bool {
        candidate.version == 0 || candidate.earliest + 1 < now
    }

    private func found(
        _ number: Int, _ stored: StoredRegistration?, _ candidates: [Candidate], _ now: UInt64
    ) -> Candidate {
        let version =
            candidates.first {
                $0.version > 0 && stored?.token == Known.pushToken(number, $0.version)
            }?.version ?? 0
        let written = stored?.generation == .previous ? now - 1 : now
        return Candidate(version: version, earliest: written, latest: written)
    }
}

extension RotationModel {
    /// Opens what is left after some end of a process, compares, and goes on to rotate.
    mutating func check(_ place: StorePlace, _ tokens: Range<Int>, _ what: String) async throws {
        #expect(try Soundness.check(place) == "ok", "\(what)")
        let store = try Store(opening: place.configuration)
        let wrong = await compare(store, tokens: tokens)
        try #require(wrong.isEmpty, "\(what): \(wrong)")
        let names =
            [store.generationNumber - 1, store.generationNumber]
            .flatMap { ["generation-\($0).db", "generation-\($0).db-wal"] } + ["reserve"]
        #expect(Set(StorePlace.names(in: place.data)).isSubset(of: names), "\(what)")
        #expect(StorePlace.names(in: place.path + "/keys") == ["master"], "\(what)")
        note("rotating")
        let report = try await store.rotated()
        note("rotated \(report.generation)")
        let after = await compare(store, tokens: tokens)
        #expect(after.isEmpty, "\(what), and one rotation more: \(after)")
        await store.close()
    }
}
