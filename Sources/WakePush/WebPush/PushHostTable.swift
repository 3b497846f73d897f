/// The hosts of a round, each at a place that stays its own while it is remembered.
struct PushHostTable {
    private var hosts: [PushHost] = []
    private var places: [[UInt8]: Int] = [:]
    private var free: [Int] = []

    var indices: Range<Int> { hosts.indices }

    subscript(place: Int) -> PushHost {
        get { hosts[place] }
        _modify { yield &hosts[place] }
    }

    /// Where a host is, which is made if it is new. When there are too many, those with nothing to
    /// do are forgotten.
    /// - Parameter name: in lower case.
    /// - Returns: nil when all of so many are busy.
    mutating func place(of name: [UInt8], limit: Int, policy: EndpointPolicy) -> Int? {
        if let place = places[name] { return place }
        if places.count >= limit { forget() }
        guard places.count < limit else { return nil }
        var host = PushHost(name: name)
        if let fixed = policy.fixedAddresses { host.place = .known(fixed, until: .max) }
        if let place = free.popLast() {
            hosts[place] = host
            places[name] = place
            return place
        }
        hosts.append(host)
        places[name] = hosts.count - 1
        return hosts.count - 1
    }

    private mutating func forget() {
        for (name, place) in places where hosts[place].isIdle && !hosts[place].isListed {
            places[name] = nil
            free.append(place)
        }
    }
}
