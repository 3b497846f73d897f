/// One event of `GET /v1/wakes`: the newest feed sequence, as a hint only.
package struct WakeEvent: Sendable, Equatable {
    package let sequence: UInt64

    package init(sequence: UInt64) {
        self.sequence = sequence
    }

    /// The event in `text/event-stream` form (WHATWG HTML §9.2.5).
    package func encode() -> [UInt8] {
        let retry = "retry: \(Limits.streamRetryMilliseconds)\n"
        return Array("\(retry)id: \(sequence)\nevent: wake\ndata: \(sequence)\n\n".utf8)
    }
}
