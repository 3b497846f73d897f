/// Lets one wake through at once and whatever comes within a second as one more: on a fast network
/// a cycle takes milliseconds, and a flood would be as many cycles as fit into it.
struct WakeGate: Sendable {
    private var isAsked = false
    private var last: Duration?

    /// When `take` has something.
    var next: Duration? {
        guard isAsked else { return nil }
        return last.map { $0 + UnifiedPush.wakeSpacing } ?? .zero
    }

    mutating func ask() { isAsked = true }

    mutating func take(at now: Duration) -> Bool {
        guard let next, next <= now else { return false }
        isAsked = false
        last = now
        return true
    }
}
