import Testing

@testable import WakeFetch

@Suite("Addresses are tried in order")
struct FetchAttemptTests {
    private let addresses = (1...3).map { IPAddress(.v4, UInt128($0)) }
    private let timeout = FetchTimeout(
        connect: .seconds(9), total: .seconds(12), throughput: .idle(.seconds(1)))

    @Test("an address that leads nowhere costs a second, the last has the time that is left")
    func shares() throws {
        let first = FetchAttempt(timeout, addresses: addresses, at: .seconds(100))
        #expect(first.address == addresses[0])
        #expect(first.connect == .seconds(1))
        #expect(first.total == .seconds(12))
        // It failed at once.
        let second = try #require(first.next(at: .seconds(100)))
        #expect(second.address == addresses[1])
        #expect(second.connect == .seconds(1))
        let third = try #require(second.next(at: .seconds(101)))
        #expect(third.address == addresses[2])
        #expect(third.connect == .seconds(8))
        #expect(third.total == .seconds(11))
        #expect(third.next(at: .seconds(105)) == nil)
    }

    @Test("of a short connect time each has its share")
    func short() {
        let timeout = FetchTimeout(
            connect: .milliseconds(900), total: nil, throughput: .idle(.seconds(1)))
        let first = FetchAttempt(timeout, addresses: addresses, at: .zero)
        #expect(first.connect == .milliseconds(300))
    }

    @Test("none is begun when the time is over")
    func over() {
        let first = FetchAttempt(timeout, addresses: addresses, at: .zero)
        #expect(first.next(at: .seconds(9)) == nil)
        let short = FetchTimeout(
            connect: .seconds(9), total: .seconds(2), throughput: .idle(.seconds(1)))
        #expect(FetchAttempt(short, addresses: addresses, at: .zero).next(at: .seconds(2)) == nil)
    }

    @Test("without pin there is one attempt, with all of the time")
    func unpinned() {
        let only = FetchAttempt(timeout, addresses: [], at: .zero)
        #expect(only.address == nil)
        #expect(only.connect == .seconds(9))
        #expect(only.next(at: .zero) == nil)
    }

    @Test("of very many addresses only some are tried")
    func many() {
        let addresses = (1...100).map { IPAddress(.v4, UInt128($0)) }
        var attempt: FetchAttempt? = FetchAttempt(timeout, addresses: addresses, at: .zero)
        var count = 0
        while let now = attempt {
            count += 1
            attempt = now.next(at: .zero)
        }
        #expect(count == PinnedAddresses.maximumAddresses)
    }

    @Test("what failed comes last for a minute, and what worked since does not")
    func failed() {
        var failed = FailedAddresses()
        #expect(failed.ordered(addresses, at: .zero) == addresses)
        failed.insert(addresses[0], at: .zero)
        failed.insert(addresses[1], at: .seconds(30))
        #expect(
            failed.ordered(addresses, at: .seconds(59))
                == [addresses[2], addresses[0], addresses[1]])
        #expect(
            failed.ordered(addresses, at: .seconds(60))
                == [addresses[0], addresses[2], addresses[1]])
        failed.remove(addresses[1])
        #expect(failed.ordered(addresses, at: .seconds(31)).last == addresses[0])
        for number in 0..<10_000 {
            failed.insert(IPAddress(.v4, UInt128(1000 + number)), at: .seconds(31))
        }
        #expect(failed.count <= FailedAddresses.maximum)
    }
}
