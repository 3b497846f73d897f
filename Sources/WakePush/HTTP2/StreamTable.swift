/// The open streams of one connection, by id. Each id has one place; streams are opened in order
/// and answered nearly so, hence the place is free when its turn comes again. The few that were
/// overtaken by a whole round of the table move to a list of late ones.
struct StreamTable: Sendable {
    struct Stream: Sendable {
        /// 0: this place is free.
        fileprivate(set) var id: UInt32 = 0
        /// What the caller knows the push by.
        var reference: UInt64 = 0
        /// Milliseconds of the connection's clock.
        var openedAt: UInt64 = 0
        /// Once the answer's head has come and its end has not.
        var status: UInt16 = 0
        var retryAfter: UInt32 = 0
        /// Bytes of the answer's body so far.
        var received: UInt32 = 0
        /// Part of the request still waits for a window.
        var isBlocked = false
    }

    private var places: [Stream]
    private var late: [Stream] = []
    private(set) var count = 0

    /// - Parameter capacity: streams open at once, usually.
    init(capacity: Int) {
        var size = 16
        while size < capacity * 2 { size *= 2 }
        places = [Stream](repeating: Stream(), count: size)
    }

    /// The place of an open stream; good until the next insertion or removal.
    func find(_ id: UInt32) -> Int? {
        let place = Int(id >> 1) & (places.count - 1)
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
        let place = Int(id >> 1) & (places.count - 1)
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

    /// Ids of all open streams that satisfy `isWanted`, in ascending order.
    func ids(where isWanted: (Stream) -> Bool) -> [UInt32] {
        (places.filter { $0.id != 0 && isWanted($0) } + late.filter(isWanted)).map(\.id).sorted()
    }
}
