/// Hosts in line, by their places in the table. Each is in one line at most: see
/// ``PushHost/isListed``.
struct HostList {
    private var places: [Int] = []
    private var first = 0

    mutating func append(_ host: Int) { places.append(host) }

    mutating func prepend(_ host: Int) {
        if first > 0 {
            first -= 1
            places[first] = host
        } else {
            places.insert(host, at: 0)
        }
    }

    mutating func takeFirst() -> Int? {
        guard first < places.count else { return nil }
        defer {
            first += 1
            if first == places.count {
                places.removeAll(keepingCapacity: true)
                first = 0
            } else if first >= 1024, first * 2 >= places.count {
                places.removeFirst(first)
                first = 0
            }
        }
        return places[first]
    }
}
