import WakeModel

/// The answer to one request while it comes: which wake-ups have their line, and whether it can be
/// believed still.
struct RelayAnswer {
    /// What one line means.
    enum Meaning {
        case delivery(wake: Int, Delivery)
        case stopped(RelayStop)
        case nothing
    }

    private var reader = RelayReader()
    /// By place in the request.
    private var hasLine: [Bool]
    private var isDone = false
    private var isBroken = false
    private let service: PushService

    /// - Parameters:
    ///   - count: wake-ups in the request.
    ///   - service: of all of them.
    init(count: Int, service: PushService) {
        hasLine = [Bool](repeating: false, count: count)
        self.service = service
    }

    /// The places of the wake-ups without a line.
    var missing: [Int] { hasLine.indices.filter { !hasLine[$0] } }

    /// - Parameter take: what is to be believed, in order.
    /// - Throws: at the first line that does not belong here; nothing after it is to be believed.
    mutating func read(
        _ bytes: Span<UInt8>, _ take: (Meaning) -> Void
    ) throws(RelayAnswerFault) {
        guard !isBroken else { throw .broken }
        var lines: [RelayLine] = []
        do throws(RelayAnswerFault) {
            try reader.read(bytes) { lines.append($0) }
        } catch {
            isBroken = true
        }
        for line in lines {
            do throws(RelayAnswerFault) {
                take(try meaning(line))
            } catch {
                isBroken = true
                break
            }
        }
        if isBroken { throw .broken }
    }

    private mutating func meaning(_ line: RelayLine) throws(RelayAnswerFault) -> Meaning {
        // The number of wake-ups is the last that is said.
        guard !isDone else { throw .broken }
        switch line {
        case .delivery(let wake, let delivery):
            // Never asked for, or said twice: whoever answers, it is not to this request.
            guard wake < hasLine.count, !hasLine[wake] else { throw .broken }
            hasLine[wake] = true
            return .delivery(wake: wake, delivery)
        case .stopped(let stopped, let stop):
            guard stopped == service else { throw .broken }
            return .stopped(stop)
        case .done(let count):
            guard count == hasLine.count else { throw .broken }
            isDone = true
            return .nothing
        }
    }
}
