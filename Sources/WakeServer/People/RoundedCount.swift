/// A count for the public: one of the two nearest tens, drawn by chance, and not told at all under
/// 20.
///
/// Plain rounding has edges: whoever makes the count reach one, by events of their own, sees the
/// next event of somebody else. Here one event more or less changes the odds of anything that is
/// told by at most one in ten, wherever the count stands.
package struct RoundedCount: Sendable, Equatable {
    /// nil: not told.
    package let value: Int?

    package static let least = 20
    package static let step = 10

    /// - Parameters:
    ///   - exact: what was counted.
    ///   - chance: drawn evenly from `0..<step`.
    package init(_ exact: Int, chance: Int) {
        precondition(exact >= 0 && (0..<Self.step).contains(chance), "a count, and one of ten")
        // The same draw decides both: two of them would let two in ten through at some counts.
        guard exact - chance >= Self.least else {
            value = nil
            return
        }
        let raised = min(exact, Int.max - Self.step) + Self.step - 1 - chance
        value = raised - raised % Self.step
    }

    package init(_ exact: Int, using random: inout some RandomNumberGenerator) {
        self.init(exact, chance: Int.random(in: 0..<Self.step, using: &random))
    }

    package var text: String { value.map(String.init) ?? "fewer than \(Self.least)" }
}
