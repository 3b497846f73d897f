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

        init(_ count: Int, inSeconds seconds: Int, most: Int? = nil) {
            interval = max(1, UInt64(seconds) * 1_000_000_000 / UInt64(count))
            self.most = most ?? count
        }

        func level(_ end: UInt64, _ now: UInt64) -> Int {
            end > now ? Int((end - now + interval - 1) / interval) : 0
        }

        func adding(to end: UInt64, _ now: UInt64) -> UInt64 {
            min(max(end, now) + interval, now + UInt64(most) * interval)
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

    /// - Parameter free: registrations without work, see `free(_:)`.
    init(_ room: Room, perPrefix: Int, free: Free) {
        rows = room.rows
        step = max(1, room.rows / 256)
        prefix = Leak(perPrefix, inSeconds: Self.prefixSeconds)
        everybody = Leak(free.perDay, inSeconds: 86_400, most: free.atOnce)
        oblivious = Self.oblivious(free)
        work = Leak(Self.free(room).perDay, inSeconds: 86_400, most: 8 * step)
    }

    /// What was stored before this process counts as taken without work: which of it was is not
    /// known, and a start must not give another quarter of the room to a flood.
    mutating func assume(fill: Double, now: UInt64) {
        everybodyEnd = everybody.end(of: Int(min(max(0, fill), 1) * Double(rows)), now)
    }

    private static func oblivious(_ free: Free) -> Leak {
        Leak(
            max(1, free.perDay / obliviousPart), inSeconds: 86_400,
            most: max(1, free.atOnce / obliviousPart))
    }

    /// Other limits from now on. What has been counted stays counted.
    mutating func change(perPrefix: Int, free: Free, now: UInt64) {
        let (formerPrefix, formerEverybody, formerOblivious) = (prefix, everybody, oblivious)
        prefix = Leak(perPrefix, inSeconds: Self.prefixSeconds)
        everybody = Leak(free.perDay, inSeconds: 86_400, most: free.atOnce)
        everybodyEnd = everybody.end(of: formerEverybody.level(everybodyEnd, now), now)
        oblivious = Self.oblivious(free)
        obliviousEnd = oblivious.end(of: formerOblivious.level(obliviousEnd, now), now)
        for place in prefixEnds.indices where prefixEnds[place] > now {
            prefixEnds[place] = prefix.end(of: formerPrefix.level(prefixEnds[place], now), now)
        }
    }

    /// Whether a new row is stored, which is then counted.
    /// - Parameters:
    ///   - bits: of its proof; nil for none.
    ///   - fill: the part of the store that is in use.
    mutating func admits(
        from origin: Origin, bits: Int?, fill: Double, now: UInt64
    ) -> Bool {
        if let bits, bits >= neededBits(fill: fill, now: now) - Self.slack {
            workEnd = work.adding(to: workEnd, now)
            return true
        }
        guard fill < 0.75, everybody.level(everybodyEnd, now) < everybody.most else { return false }
        switch origin {
        case .oblivious:
            guard oblivious.level(obliviousEnd, now) < oblivious.most else { return false }
            obliviousEnd = oblivious.adding(to: obliviousEnd, now)
        case .network(nil): break
        case .network(let (place, former)?):
            let level = max(
                prefix.level(prefixEnds[place], now), prefix.level(prefixEnds[former], now))
            guard level < prefix.most else { return false }
            prefixEnds[place] = prefix.adding(to: prefixEnds[place], now)
            if former != place {
                prefixEnds[former] = prefix.adding(to: prefixEnds[former], now)
            }
        }
        everybodyEnd = everybody.adding(to: everybodyEnd, now)
        return true
    }

    /// The work that is asked now: a bit more for every 256th of the store that came with a proof
    /// and has not leaked, which happens as slowly as rows expire, and towards the cap.
    func neededBits(fill: Double, now: UInt64) -> Int {
        let pressed = work.level(workEnd, now) / step
        let full = max(0, Int(min(fill, 1) * 8) - 4)
        return min(Self.bits.lowerBound + pressed + full, Self.bits.upperBound)
    }
}
