/// Keeps a push service that has lost its mind from emptying the store: deletions wait until the
/// answers around them show that "gone" is rare.
///
/// One brake for each push service and round. Two services in one brake would cover for each other:
/// one that is 4 % of the answers could say "gone" to everything and stay under 5 %.
///
/// Answers are counted in windows of 1,000 that follow one another. As soon as one window holds
/// more than 5 % "gone" (51 of 1,000; 50 are fine) the brake trips: what waits is dropped, nothing
/// more is released in this round, the caller raises the alarm. What a window holds is released
/// only when the window after it has closed too. At the end of the round the rest is released when
/// the last full window and what follows it are together within the share.
///
/// What that guarantees, proved by the tests:
/// - A service that says "gone" to everything costs no row at all, however many it has: its first
///   window trips at the 51st answer; with fewer answers the share at the end is 100 %.
/// - A service that starts to do so in the midst of a round costs no row either when 1,000 or more
///   answers follow, and at most 50 when the round ends before that.
/// - A service with at most 5 % "gone" in every window has all of them deleted, the last ones
///   when the round ends.
///
/// Few rows: a round with fewer answers than a window never fills one, and of 60 rows three are 5 %
/// already. As many "gone" as a window may hold are fine then, if at least as many were accepted.
/// With fewer than 20 answers nothing is an alarm, since nothing can be told from them.
///
/// Windows do not slide, on purpose: of a million random answers with 3 % "gone", some 1,000 in a
/// row hold 51 nine times in ten, one of the 1,000 windows that follow one another does so once in
/// five rounds. Tripping wrongly is harmless in any case: the next round deletes the rest.
package struct Brake<Item: Sendable>: Sendable {
    /// Answers in a window.
    package let window: Int
    /// "Gone" that are fine, of 1,000 answers.
    package let perMille: Int

    /// More than the share of the answers said "gone": nothing more is deleted in this round.
    package private(set) var isTripped = false

    /// Answers in the window that is open, and those of them that said "gone".
    private var answers = 0
    private var goneAnswers = 0
    /// The same of the window before; zero before the first is full.
    private var closedAnswers = 0
    private var closedGone = 0
    /// Waiting since the open window, since the one before, and no longer.
    private var open: [Item] = []
    private var closed: [Item] = []
    private var released: [Item] = []

    /// - Parameters:
    ///   - window: answers, at least 20.
    ///   - perMille: of 1,000 answers, 0 to 1,000; with 1,000 the brake never trips.
    ///   - isTripped: it had tripped before the round was resumed.
    package init(window: Int = 1000, perMille: Int = 50, isTripped: Bool = false) {
        precondition(window >= 20 && (0...1000).contains(perMille))
        self.window = window
        self.perMille = perMille
        self.isTripped = isTripped
    }

    /// The service took a wake-up. What this releases comes with the next `gone` or `finish`.
    package mutating func accepted() {
        answers += 1
        closeWhenFull()
    }

    /// The service said "gone". Answers of other kinds are not counted.
    /// - Returns: what may be deleted now; rarely `item` itself.
    package mutating func gone(_ item: Item) -> [Item] {
        answers += 1
        goneAnswers += 1
        guard !isTripped else { return [] }
        open.append(item)
        // No need to wait for the end of a window that is lost already.
        guard isWithin(goneAnswers, of: window) else {
            trip()
            return take()
        }
        closeWhenFull()
        return take()
    }

    /// The round has ended: no more answers will come.
    /// - Returns: what may be deleted of the rest. When it is nothing because of the share, the
    ///   brake has tripped.
    package mutating func finish() -> [Item] {
        guard !isTripped else { return [] }
        let gone = closedGone + goneAnswers
        let all = closedAnswers + answers
        let areFew = closedAnswers == 0 && isWithin(gone, of: window) && gone * 2 <= all
        guard gone == 0 || isWithin(gone, of: all) || areFew else {
            if all >= Self.fewAnswers { trip() }
            open = []
            closed = []
            return take()
        }
        released += closed + open
        closed = []
        open = []
        return take()
    }

    /// Items that wait for more answers.
    package var waiting: Int { open.count + closed.count + released.count }

    /// Fewer prove nothing.
    private static var fewAnswers: Int { 20 }

    private mutating func closeWhenFull() {
        guard answers == window, !isTripped else { return }
        released += closed
        closed = open
        closedAnswers = answers
        closedGone = goneAnswers
        open = []
        answers = 0
        goneAnswers = 0
    }

    private mutating func trip() {
        isTripped = true
        open = []
        closed = []
    }

    private mutating func take() -> [Item] {
        let items = released
        released = []
        return items
    }

    private func isWithin(_ gone: Int, of answers: Int) -> Bool {
        gone * 1000 <= perMille * answers
    }
}
