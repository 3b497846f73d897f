import WakeFetch
import WakeModel

/// Whose turn it is: hosts in line, to send or to be looked up.
extension WebPushFlow {
    /// Milliseconds for which checked addresses are good.
    static let addressLife: UInt64 = 60_000
    /// Milliseconds between two looks at what was waiting for a time.
    private static let look: UInt64 = 100

    /// The host may have something to send now.
    mutating func list(_ host: Int) {
        guard !hosts[host].isListed, hosts[host].readyCount > 0 else { return }
        hosts[host].isListed = true
        turns.append(host)
    }

    mutating func listFirst(_ host: Int) {
        hosts[host].isListed = true
        turns.prepend(host)
    }

    /// One more of those that have accepted nothing may send.
    mutating func letUnprovenOn() {
        while let host = unproven.takeFirst() {
            hosts[host].isListed = false
            list(host)
            if hosts[host].isListed { return }
        }
    }

    /// Makes ready what was waiting for a time.
    mutating func advance(now: UInt64) {
        guard now >= nextLook else { return }
        nextLook = now + Self.look
        for host in hosts.indices where hosts[host].readyCount + hosts[host].delayedCount > 0 {
            hosts[host].advance(now: now)
            list(host)
        }
        // Whose turn had come may have had nothing to send then: nobody waits for that.
        let room = bounds.unproven - unprovenInFlight
        for _ in 0..<max(0, room) { letUnprovenOn() }
    }

    // MARK: Addresses

    /// Checked addresses of a host; nil while there are none.
    mutating func addresses(of host: Int, now: UInt64) -> [IPAddress]? {
        switch hosts[host].place {
        case .known(let addresses, let until):
            if now >= until {
                // They were checked: good enough until there are new ones.
                hosts[host].place = .renewed(addresses)
                unknown.prepend(host)
            }
            return addresses
        case .renewed(let addresses): return addresses
        case .asked: return nil
        case .unknown:
            hosts[host].place = .asked
            unknown.append(host)
            return nil
        }
    }

    mutating func nextLookUp() -> Action? {
        while lookups < bounds.lookups, let host = unknown.takeFirst() {
            guard hosts[host].end == nil else {
                hosts[host].place = .unknown
                continue
            }
            lookups += 1
            return .lookUp(host: host, name: hosts[host].name)
        }
        return nil
    }

    /// What a look-up brought. Every address is checked, and what was checked is what is connected
    /// to: an answer that changes in between changes nothing.
    mutating func looked(
        up host: Int, _ result: Result<[IPAddress], ResolveError>, at moment: Moment
    ) -> Step {
        var step = Step()
        lookups -= 1
        switch result {
        case .success(let addresses) where policy.admits(addresses):
            hosts[host].place = .known(addresses, until: moment.now + Self.addressLife)
        case .success:
            hosts[host].place = .unknown
            end(
                host, as: .endpointRefused, .misconfigured(.webPush(.addressesRefused)), &step)
        case .failure(.notFound), .failure(.notAName):
            hosts[host].place = .unknown
            end(host, as: .connectionFault, .unavailable(.unknownHost, .webPush), &step)
        case .failure(.temporarily), .failure(.timedOut), .failure(.cancelled):
            hosts[host].place = .unknown
            let isOver = hosts[host].circuit.pause(
                isProven: hosts[host].hasAccepted, now: moment.now, chance: moment.chance)
            if isOver {
                end(host, as: .connectionFault, .unavailable(.unknownHost, .webPush), &step)
            }
        }
        list(host)
        return step
    }
}
