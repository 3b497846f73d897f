import Synchronization
import WakePush

/// What the gateways of a round report from their own threads, until the round takes it.
final class RoundInbox: Sendable {
    struct Note: Sendable {
        /// The gateway's place.
        let gateway: Int
        let report: GatewayReport
    }

    private let notes = Mutex<[Note]>([])
    /// One element whenever there may be something to do; several become one.
    let bell: AsyncStream<Void>
    private let ringer: AsyncStream<Void>.Continuation
    private let stopping = Atomic<Bool>(false)

    init() {
        (bell, ringer) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    func put(_ note: Note) {
        notes.withLock { $0.append(note) }
        ring()
    }

    func ring() { ringer.yield() }

    /// The program stops: the round sends no more.
    func stop() {
        stopping.store(true, ordering: .relaxed)
        ring()
    }

    var isStopping: Bool { stopping.load(ordering: .relaxed) }

    func take() -> [Note] {
        notes.withLock { notes in
            defer { notes = [] }
            return notes
        }
    }
}
