/// Takes the bytes of a relay's answer as they come and gives its lines.
package struct RelayReader: Sendable {
    /// Of a line that has not ended yet.
    private var started: [UInt8] = []
    private var isBroken = false

    package init() {}

    /// - Parameter take: called with each line, in order.
    /// - Throws: at the first line that is none: whatever follows is not to be believed, and every
    ///   later call throws, too.
    package mutating func read(
        _ bytes: Span<UInt8>, _ take: (RelayLine) -> Void
    ) throws(RelayAnswerFault) {
        guard !isBroken else { throw .broken }
        for index in bytes.indices {
            let byte = bytes[index]
            if byte == 0x0A {
                guard let line = RelayLine(started) else { throw fail() }
                started.removeAll(keepingCapacity: true)
                take(line)
            } else {
                guard started.count < RelayLine.maximumBytes else { throw fail() }
                started.append(byte)
            }
        }
    }

    /// Whether the bytes so far end within a line.
    package var isWithinLine: Bool { !started.isEmpty }

    private mutating func fail() -> RelayAnswerFault {
        isBroken = true
        started = []
        return .broken
    }
}

/// An answer that is not one of a relay to this request.
package enum RelayAnswerFault: Error, Sendable, Equatable {
    case broken
}
