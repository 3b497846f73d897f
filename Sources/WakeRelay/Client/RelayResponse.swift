import WakeModel
import WakePush

/// The response to one request while it arrives: checks that every line belongs to the request.
struct RelayResponse {
    /// The meaning of one line.
    enum Event {
        case delivery(wake: Int, Delivery)
        case stopped(RelayStop)
    }

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

    /// - Parameter receive: called for each line that is valid, in order.
    /// - Throws: at the first line that does not belong here; nothing after it is valid.
    mutating func read(
        _ bytes: Span<UInt8>, _ receive: (Event?) -> Void
    ) throws(RelayResponseError) {
        guard !isBroken else { throw .malformed }
        var lines: [RelayLine] = []
        isBroken = (try? reader.read(bytes) { lines.append($0) }) == nil
        do throws(RelayResponseError) {
            for line in lines { receive(try event(line)) }
        } catch { isBroken = true }
        if isBroken { throw .malformed }
    }

    private mutating func event(_ line: RelayLine) throws(RelayResponseError) -> Event? {
        // The number of wake-ups is the last line.
        guard !isDone else { throw .malformed }
        switch line {
        case .delivery(let wake, let delivery):
            // A wake-up that was not requested, or has its line: the response to another request.
            guard wake < hasLine.count, !hasLine[wake] else { throw .malformed }
            hasLine[wake] = true
            return .delivery(wake: wake, delivery)
        case .stopped(let stopped, let stop):
            guard stopped == service else { throw .malformed }
            return .stopped(stop)
        case .done(let count):
            guard count == hasLine.count else { throw .malformed }
            isDone = true
            return nil
        }
    }
}

/// A response that is not a relay's to this request.
enum RelayResponseError: Error { case malformed }

/// Splits the bytes of a relay's response into lines.
struct RelayLineReader {
    private var started: [UInt8] = []
    private var isBroken = false

    /// - Parameter receive: called with each line, in order.
    /// - Throws: at the first line that is malformed, and at every later call.
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
