/// The open streams of one connection, by id: linear probing from `id / 2`, which for streams that
/// are opened in order and answered nearly so finds every one at the first look.
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
    private(set) var count = 0

    /// - Parameter capacity: streams open at once, at most.
    init(capacity: Int) {
        var size = 16
        while size < capacity * 2 { size *= 2 }
        places = [Stream](repeating: Stream(), count: size)
    }

    /// The place of an open stream; good until the next insertion or removal.
    func find(_ id: UInt32) -> Int? {
        let mask = places.count - 1
        var place = Int(id >> 1) & mask
        while places[place].id != 0 {
            if places[place].id == id { return place }
            place = (place + 1) & mask
        }
        return nil
    }

    subscript(place: Int) -> Stream {
        get { places[place] }
        set { places[place] = newValue }
    }

    mutating func insert(_ id: UInt32, reference: UInt64, openedAt: UInt64) {
        precondition(count * 2 < places.count, "more streams than agreed")
        let mask = places.count - 1
        var place = Int(id >> 1) & mask
        while places[place].id != 0 { place = (place + 1) & mask }
        places[place] = Stream(id: id, reference: reference, openedAt: openedAt)
        count += 1
    }

    /// Knuth, volume 3, section 6.4, algorithm R: no tombstones.
    mutating func remove(at place: Int) {
        let mask = places.count - 1
        var hole = place
        var next = (hole + 1) & mask
        while places[next].id != 0 {
            let home = Int(places[next].id >> 1) & mask
            // Moves back unless its home lies between the hole and itself.
            if (next - home) & mask >= (next - hole) & mask {
                places[hole] = places[next]
                hole = next
            }
            next = (next + 1) & mask
        }
        places[hole].id = 0
        count -= 1
    }

    /// Ids of all open streams that satisfy `isWanted`, in ascending order.
    func ids(where isWanted: (Stream) -> Bool) -> [UInt32] {
        places.filter { $0.id != 0 && isWanted($0) }.map(\.id).sorted()
    }
}
