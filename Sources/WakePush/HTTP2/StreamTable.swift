/// The open streams of one connection, by id. Each id has one place; streams are opened in order
/// and answered nearly so, hence the place is free when its turn comes again. The few that were
/// overtaken by a whole round of the table move to a list of late ones.
struct StreamTable: Sendable {
    /// 24 bytes: the table of a thousand streams stays in the nearest caches.
    struct Stream: Sendable {
        /// 0: this place is free.
        fileprivate(set) var id: UInt32 = 0
        /// The lower half of the connection's milliseconds: enough to tell an age.
        private var opened: UInt32 = 0
        private var upper: UInt32 = 0
        private var lower: UInt32 = 0
        /// Seconds that the answer's head asked to wait.
        var retryAfter: UInt32 = 0
        /// Once the answer's head has come and its end has not.
        var status: UInt16 = 0
        /// Bytes of the answer's body so far; it is cut long before this overflows.
        var received: UInt16 = 0

        fileprivate init() {}

        fileprivate init(id: UInt32, reference: UInt64, openedAt: UInt64) {
            self.id = id
            opened = UInt32(truncatingIfNeeded: openedAt)
            upper = UInt32(truncatingIfNeeded: reference >> 32)
            lower = UInt32(truncatingIfNeeded: reference)
        }

        /// What the caller knows the push by.
        var reference: UInt64 { UInt64(upper) << 32 | UInt64(lower) }

        /// Milliseconds since the stream was opened.
        func age(now: UInt64) -> UInt64 {
            UInt64(UInt32(truncatingIfNeeded: now) &- opened)
        }
    }

    private var places: [Stream]
    private let mask: UInt32
    private var late: [Stream] = []
    private(set) var count = 0

    /// - Parameter capacity: streams open at once, usually.
    init(capacity: Int) {
        var size = 16
        while size < capacity * 2 { size *= 2 }
        places = [Stream](repeating: Stream(), count: size)
        mask = UInt32(size - 1)
    }

    /// The place of an open stream; good until the next insertion or removal.
    func find(_ id: UInt32) -> Int? {
        let place = Int(id >> 1 & mask)
        if places[place].id == id { return place }
        guard !late.isEmpty, let index = late.firstIndex(where: { $0.id == id }) else {
            return nil
        }
        return places.count + index
    }

    subscript(place: Int) -> Stream {
        get { place < places.count ? places[place] : late[place - places.count] }
        set {
            if place < places.count {
                places[place] = newValue
            } else {
                late[place - places.count] = newValue
            }
        }
    }

    mutating func insert(_ id: UInt32, reference: UInt64, openedAt: UInt64) {
        let place = Int(id >> 1 & mask)
        if places[place].id != 0 { late.append(places[place]) }
        places[place] = Stream(id: id, reference: reference, openedAt: openedAt)
        count += 1
    }

    mutating func remove(at place: Int) {
        if place < places.count {
            places[place].id = 0
        } else {
            late.swapAt(place - places.count, late.count - 1)
            late.removeLast()
        }
        count -= 1
    }

    /// Takes out a stream of which nothing has come yet; nil when there is none such.
    mutating func takeUnanswered(_ id: UInt32) -> UInt64? {
        let place = Int(id >> 1 & mask)
        let stream = places[place]
        guard stream.id == id, stream.status == 0 else { return nil }
        places[place].id = 0
        count -= 1
        return stream.reference
    }

    /// Ids of all open streams that satisfy `isWanted`, in ascending order.
    func ids(where isWanted: (Stream) -> Bool) -> [UInt32] {
        (places.filter { $0.id != 0 && isWanted($0) } + late.filter(isWanted)).map(\.id).sorted()
    }
}
