import WakeModel

/// The response to one request while it arrives: checks that every line belongs to the request.
struct RelayResponse {
    private var reader = RelayLineReader()
    private var hasLine: [Bool]
    private var isDone = false
    private var isBroken = false
    private let service: PushService

    /// - Parameter count: wake-ups in the request, all of `service`.
    init(count: Int, service: PushService) {
        hasLine = [Bool](repeating: false, count: count)
        self.service = service
    }

    /// The positions of the wake-ups without a line.
    var missing: [Int] { hasLine.indices.filter { !hasLine[$0] } }

    /// Whether every wake-up has its line; without any, whether the relay said so.
    var isAnswered: Bool { missing.isEmpty && (isDone || !hasLine.isEmpty) }

    /// Calls `receive` for each valid line in order; throws at the first that does not belong here.
    mutating func read(
        _ bytes: Span<UInt8>, _ receive: (RelayLine) -> Void
    ) throws(RelayResponseError) {
        var lines: [RelayLine] = []
        let isWhole = (try? reader.read(bytes) { lines.append($0) }) != nil
        for line in lines {
            isBroken = isBroken || !accepts(line)
            if isBroken { break }
            receive(line)
        }
        isBroken = isBroken || !isWhole
        if isBroken { throw .malformed }
    }

    private mutating func accepts(_ line: RelayLine) -> Bool {
        // The number of wake-ups is the last line.
        guard !isDone else { return false }
        switch line {
        case .delivery(let wake, _):
            // A wake-up that was not requested, or has its line: the response to another request.
            guard wake < hasLine.count, !hasLine[wake] else { return false }
            hasLine[wake] = true
            return true
        case .stopped(let stopped, _): return stopped == service
        case .done(let count):
            isDone = count == hasLine.count
            return isDone
        }
    }
}

/// A response that is not a relay's to this request.
enum RelayResponseError: Error { case malformed }

struct RelayLineReader {
    private var started: [UInt8] = []
    private var isBroken = false

    /// Calls `receive` with each line in order; throws at a malformed one and at every later call.
    mutating func read(
        _ bytes: Span<UInt8>, _ receive: (RelayLine) -> Void
    ) throws(RelayResponseError) {
        guard !isBroken else { throw .malformed }
        for index in bytes.indices {
            let byte = bytes[index]
            if byte == 0x0A {
                guard let line = RelayLine(started) else { throw fail() }
                started.removeAll(keepingCapacity: true)
                receive(line)
            } else {
                guard started.count < RelayLine.maximumBytes else { throw fail() }
                started.append(byte)
            }
        }
    }

    private mutating func fail() -> RelayResponseError {
        isBroken = true
        started = []
        return .malformed
    }
}
