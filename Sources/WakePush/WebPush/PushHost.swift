import WakeFetch
import WakeModel

/// What one round knows of one host of push services: its wake-ups, and how it has behaved.
struct PushHost {
    struct Entry: Sendable {
        let wakeUp: WakeUp
        /// What the attempts so far have cost, see ``RetryPolicy``.
        var spent = 0
    }

    /// Where the host is.
    enum Place {
        case unknown
        case asked
        /// Checked, and good until then.
        case known([IPAddress], until: UInt64)
        /// The same while it is asked anew.
        case renewed([IPAddress])
    }

    /// Requests on their way to a host that has accepted nothing yet; each answer allows one more.
    static let firstAllowance = 4
    /// Refusals of a host that has accepted nothing, until it is given up for the round.
    static let refusalLimit = 64
    /// "Gone" that is believed of a host that has accepted nothing in this round: enough for a
    /// server of one's own with a device or two, too few for one that says so to everything.
    static let unprovenGoneLimit = 3

    /// In lower case.
    let name: [UInt8]
    var place = Place.unknown
    /// The host is given up for this round: what its wake-ups are settled as.
    var end: RetryCause?

    private var queue: [Entry] = []
    private var nextInQueue = 0
    private var delayed: [(due: UInt64, entry: Entry)] = []
    var inFlight = 0
    /// "Gone" that is believed when the host accepts something.
    var held: [Entry] = []

    var circuit = HostCircuit()
    var pushback = Pushback()
    private(set) var hasAccepted = false
    private var refusals = 0
    private var unprovenGone = 0
    private var allowance = Self.firstAllowance
    /// In one of the flow's lists already.
    var isListed = false

    init(name: [UInt8]) { self.name = name }

    var readyCount: Int { queue.count - nextInQueue }
    var delayedCount: Int { delayed.count }
    var isIdle: Bool {
        switch place {
        case .asked, .renewed: false
        case .unknown, .known: readyCount + delayedCount + inFlight + held.count == 0
        }
    }

    mutating func add(_ entry: Entry) { queue.append(entry) }

    mutating func add(_ entry: Entry, due: UInt64) { delayed.append((due, entry)) }

    mutating func takeFirst() -> Entry {
        let entry = queue[nextInQueue]
        nextInQueue += 1
        if nextInQueue == queue.count {
            queue.removeAll(keepingCapacity: nextInQueue < 64)
            nextInQueue = 0
        } else if nextInQueue >= 1024 {
            queue.removeFirst(nextInQueue)
            nextInQueue = 0
        }
        return entry
    }

    /// Everything that waits, for a turn or for a time.
    mutating func takeAll() -> [Entry] {
        defer {
            queue = []
            nextInQueue = 0
            delayed = []
        }
        return queue[nextInQueue...] + delayed.map(\.entry)
    }

    /// Makes ready what is due.
    mutating func advance(now: UInt64) {
        guard delayed.contains(where: { $0.due <= now }) else { return }
        queue += delayed.filter { $0.due <= now }.map(\.entry)
        delayed.removeAll { $0.due <= now }
    }

    // MARK: Behaviour

    /// Requests that may be on their way now.
    func room(now: UInt64, perHost: Int) -> Int {
        var most = min(allowance, perHost)
        if let limit = circuit.allowance(now: now) { most = min(most, limit) }
        if let limit = pushback.allowance(now: now) { most = min(most, limit) }
        return most - inFlight
    }

    /// Milliseconds in which it has not worked, as far as that is known; nil: it works.
    func trouble(now: UInt64) -> UInt64? {
        circuit.trouble(now: now) ?? pushback.trouble(now: now)
    }

    /// It answered, whatever.
    mutating func answered() {
        circuit.answered()
        allowance = min(allowance + 1, 1 << 16)
    }

    mutating func accepted() {
        hasAccepted = true
        refusals = 0
        pushback.worked()
    }

    /// Whether a definite "gone" is believed now.
    mutating func believesGone() -> Bool {
        guard !hasAccepted else { return true }
        unprovenGone += 1
        return unprovenGone <= Self.unprovenGoneLimit
    }

    /// - Returns: true when it has refused so many and accepted none that asking on is no use.
    mutating func refused() -> Bool {
        guard !hasAccepted else { return false }
        refusals += 1
        return refusals >= Self.refusalLimit
    }

    /// A request came to nothing: fewer at once.
    mutating func shrink() { allowance = max(1, allowance / 2) }
}
