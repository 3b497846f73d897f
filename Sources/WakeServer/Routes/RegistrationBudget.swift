/// The new registrations that are taken as they come, and the work that others cost. A value: the
/// caller says what time it is. Its memory is the same whatever anybody sends.
struct RegistrationBudget: Sendable {
    /// Registrations that the store holds; it keeps each for `lifeSeconds` at most.
    struct Room: Sendable {
        let rows: Int
        let lifeSeconds: Int
    }

    /// The rule of counts that leak. A count is the time at which it is empty: 8 bytes for each of
    /// the prefixes, where a `TokenBucket` takes 48.
    private struct Leak: Sendable {
        /// Nanoseconds in which one leaks.
        let interval: UInt64
        let most: Int
        /// One in so many is counted, as so many: who fills a count to the brim, and knows of each
        /// of its own whether it came in, still cannot tell how many others did.
        let grain: Int

        init(_ count: Int, inSeconds seconds: Int, most: Int? = nil, grain: Int = 1) {
            interval = max(1, UInt64(seconds) * 1_000_000_000 / UInt64(count))
            self.most = most ?? count
            self.grain = max(1, grain)
        }

        func level(_ end: UInt64, _ now: UInt64) -> Int {
            end > now ? Int((end - now + interval - 1) / interval) : 0
        }

        func hasRoom(_ end: UInt64, _ now: UInt64) -> Bool { level(end, now) + grain <= most }

        /// - Parameter draw: 0 up to 1, at random.
        func adding(to end: UInt64, _ now: UInt64, draw: Double) -> UInt64 {
            guard draw * Double(grain) < 1 else { return end }
            return min(max(end, now) + UInt64(grain) * interval, now + UInt64(most) * interval)
        }

        /// The same count by another rule.
        func end(of level: Int, _ now: UInt64) -> UInt64 {
            now + UInt64(min(level, most)) * interval
        }
    }

    /// Where a request for a new row came from.
    enum Origin: Sendable, Equatable {
        /// Places of the client's prefix in a table of `places`; nil where none is known.
        case network((Int, Int)?)
        /// Through a relay that shows no prefix.
        case oblivious

        static func == (left: Origin, right: Origin) -> Bool {
            switch (left, right) {
            case (.oblivious, .oblivious): true
            case (.network(let left), .network(let right)):
                left?.0 == right?.0 && left?.1 == right?.1
            default: false
            }
        }
    }

    private var everybody: Leak
    /// A part of everybody's for those who come through relays: one of them, of which nobody can
    /// tell how many it is, takes no more from the others. Beyond it they work.
    private var oblivious: Leak
    private var prefix: Leak
    private let work: Leak
    private var everybodyEnd: UInt64 = 0
    private var obliviousEnd: UInt64 = 0
    private var workEnd: UInt64 = 0
    /// By the hash of the prefix; those of one place share a count.
    private var prefixEnds = [UInt64](repeating: 0, count: places)
    private let rows: Int
    /// Rows with a proof that make the next one harder by a bit.
    private let step: Int
    private let coarseness: Int

    static let places = 65_536
    /// Seconds in which a prefix's count has leaked: the life of a key of prefix hashes, which then
    /// may be forgotten. See `HTTPLimits.sourceKeySeconds`.
    static let prefixSeconds = 600
    /// Some hundredths of a second of one core, and some seconds.
    static let bits = 16...23
    /// A proof for so much less than is asked now is taken: more is asked while a client works.
    static let slack = 2
    /// Relays get one in so many of the registrations that cost no work.
    static let obliviousPart = 8

    /// Registrations that are taken without work.
    struct Free: Sendable, Equatable {
        let atOnce, perDay: Int
    }

    /// A quarter of the room at once, and then another in the life of a row.
    static func free(_ room: Room) -> Free {
        Free(
            atOnce: max(1, room.rows / 4),
            perDay: max(1, room.rows * 86_400 / (4 * room.lifeSeconds)))
    }

    /// - Parameters:
    ///   - free: registrations without work, see `free(_:)`.
    ///   - coarseness: the largest grain of the counts that one neighbour or relay may fill.
    init(_ room: Room, perPrefix: Int, free: Free, coarseness: Int = 16) {
        rows = room.rows
        self.coarseness = coarseness
        step = max(64, room.rows / 256)
        prefix = Self.prefix(perPrefix, coarseness)
        everybody = Leak(free.perDay, inSeconds: 86_400, most: free.atOnce)
        oblivious = Self.oblivious(free, coarseness)
        // Everybody may read it, in `bits`.
        work = Leak(
            Self.free(room).perDay, inSeconds: 86_400, most: 8 * step, grain: step / 16)
    }

    /// What was stored before this process counts as taken without work: which of it was is not
    /// known, and a start must not give another quarter of the room to a flood.
    mutating func assume(fill: Double, now: UInt64) {
        everybodyEnd = everybody.end(of: Int(min(max(0, fill), 1) * Double(rows)), now)
    }

    private static func prefix(_ count: Int, _ coarseness: Int) -> Leak {
        Leak(count, inSeconds: prefixSeconds, grain: min(coarseness, count / 4))
    }

    private static func oblivious(_ free: Free, _ coarseness: Int) -> Leak {
        let most = max(1, free.atOnce / obliviousPart)
        return Leak(
            max(1, free.perDay / obliviousPart), inSeconds: 86_400, most: most,
            grain: min(coarseness, most / 4))
    }

    /// Other limits from now on. What has been counted stays counted.
    mutating func change(perPrefix: Int, free: Free, now: UInt64) {
        let (formerPrefix, formerEverybody, formerOblivious) = (prefix, everybody, oblivious)
        prefix = Self.prefix(perPrefix, coarseness)
        everybody = Leak(free.perDay, inSeconds: 86_400, most: free.atOnce)
        everybodyEnd = everybody.end(of: formerEverybody.level(everybodyEnd, now), now)
        oblivious = Self.oblivious(free, coarseness)
        obliviousEnd = oblivious.end(of: formerOblivious.level(obliviousEnd, now), now)
        for place in prefixEnds.indices where prefixEnds[place] > now {
            prefixEnds[place] = prefix.end(of: formerPrefix.level(prefixEnds[place], now), now)
        }
    }

    /// Whether a new row is stored, which is then counted.
    /// - Parameters:
    ///   - bits: of its proof; nil for none.
    ///   - fill: the part of the store that is in use.
    ///   - used: the part of the room for used proofs that is in use.
    ///   - draw: 0 up to 1, at random.
    mutating func admits(
        from origin: Origin, bits: Int?, fill: Double, used: Double = 0, draw: Double, now: UInt64
    ) -> Bool {
        if let bits, bits >= neededBits(fill: fill, used: used, now: now) - Self.slack {
            workEnd = work.adding(to: workEnd, now, draw: draw)
            return true
        }
        guard isOpen(to: origin, fill: fill, now: now) else { return false }
        count(origin, draw: draw, now: now)
        return true
    }

    /// Whether a new row without a proof would be stored now.
    func isOpen(to origin: Origin, fill: Double, now: UInt64) -> Bool {
        guard fill < 0.75, everybody.hasRoom(everybodyEnd, now) else { return false }
        return switch origin {
        case .oblivious: oblivious.hasRoom(obliviousEnd, now)
        case .network(nil): true
        case .network(let (place, former)?):
            prefix.hasRoom(max(prefixEnds[place], prefixEnds[former]), now)
        }
    }

    /// Counts a new row without a proof.
    mutating func count(_ origin: Origin, draw: Double, now: UInt64) {
        switch origin {
        case .oblivious: obliviousEnd = oblivious.adding(to: obliviousEnd, now, draw: draw)
        case .network(nil): break
        case .network(let (place, former)?):
            prefixEnds[place] = prefix.adding(to: prefixEnds[place], now, draw: draw)
            if former != place {
                prefixEnds[former] = prefix.adding(to: prefixEnds[former], now, draw: draw)
            }
        }
        everybodyEnd = everybody.adding(to: everybodyEnd, now, draw: draw)
    }

    /// The work that is asked now: a bit more for every 256th of the store that came with a proof
    /// and has not leaked, which happens as slowly as rows expire, and towards the caps.
    func neededBits(fill: Double, used: Double = 0, now: UInt64) -> Int {
        let pressed = max(work.level(workEnd, now) / step, Int(used * 16))
        let full = max(0, Int(min(fill, 1) * 8) - 4)
        return min(Self.bits.lowerBound + pressed + full, Self.bits.upperBound)
    }
}
