/// What a mistyped word was probably meant to be.
package enum Spelling {
    /// The candidate at most two edits away, if one is clearly meant (Levenshtein distance).
    package static func nearest(to word: String, in candidates: [String]) -> String? {
        func distance(_ a: [Character], _ b: [Character]) -> Int {
            var row = Array(0...b.count)
            for (i, x) in a.enumerated() {
                var diagonal = row[0]
                row[0] = i + 1
                for (j, y) in b.enumerated() {
                    let cost = diagonal + (x == y ? 0 : 1)
                    diagonal = row[j + 1]
                    row[j + 1] = min(cost, row[j] + 1, row[j + 1] + 1)
                }
            }
            return row[b.count]
        }
        let scored = candidates.map { (distance(Array(word), Array($0)), $0) }
        guard let best = scored.min(by: { $0.0 < $1.0 }), best.0 <= 2 else { return nil }
        return best.1
    }
}
