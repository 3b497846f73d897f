import Synchronization
import WakeHTTP
import WakePush

/// What other threads leave for the relay's desk: requests from the loop's, reports from those of
/// gateways.
final class RelayInbox: Sendable {
    /// A request whose head was judged.
    struct Job: Sendable {
        let request: Request
        let exchange: Exchange
        let visit: RelayGate.Visit
    }

    struct Contents: Sendable {
        var jobs: [Job] = []
        var reports: [(round: Int, report: GatewayReport)] = []
        /// Requests whose client is gone.
        var lost: [Int] = []
        fileprivate var isClosed = false
    }

    private let contents = Mutex(Contents())
    private let limit: Int
    /// One element whenever there may be something to do; several become one.
    let bell: AsyncStream<Void>
    private let ringer: AsyncStream<Void>.Continuation

    /// - Parameter limit: requests waiting at most.
    init(limit: Int) {
        self.limit = limit
        (bell, ringer) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    func ring() { ringer.yield() }

    /// - Returns: false when too many wait, or nobody reads them any more.
    func put(_ job: Job) -> Bool {
        let isTaken = contents.withLock { contents in
            guard !contents.isClosed, contents.jobs.count < limit else { return false }
            contents.jobs.append(job)
            return true
        }
        ring()
        return isTaken
    }

    func put(_ report: GatewayReport, of round: Int) {
        contents.withLock { $0.reports.append((round, report)) }
        ring()
    }

    func putLost(_ request: Int) {
        contents.withLock { $0.lost.append(request) }
        ring()
    }

    /// - Parameter closing: nothing is taken any more.
    func take(closing: Bool = false) -> Contents {
        contents.withLock { contents in
            defer {
                let isClosed = contents.isClosed || closing
                contents = Contents()
                contents.isClosed = isClosed
            }
            return contents
        }
    }
}
