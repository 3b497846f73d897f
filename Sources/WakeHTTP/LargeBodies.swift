/// The one path of a listener whose requests may have a larger body than all others.
///
/// Memory stays bounded by `atOnce` such bodies, counted from the first byte that is kept to the
/// moment the last copy of the request is gone.
package struct LargeBodies: Sendable {
    /// Whose POST requests; byte for byte.
    package let path: StaticString
    /// Bound of such a body in bytes.
    package let bytes: Int
    /// Such bodies at once; beyond it 503.
    package let atOnce: Int
    /// Sees the head of a request, with an empty body, before the body is read. So who has no
    /// business here need not be listened to. Called on the loop's thread.
    package let screen: @Sendable (Request) -> Verdict

    /// What is to become of a large body.
    package enum Verdict: Sendable {
        /// It is not read.
        case refused(Response)
        /// It takes up one of the places; `holding` is let go of together with it.
        case admitted(holding: (any AnyObject & Sendable)?)
    }

    package init(
        path: StaticString, bytes: Int, atOnce: Int,
        screen: @escaping @Sendable (Request) -> Verdict = { _ in .admitted(holding: nil) }
    ) {
        self.path = path
        self.bytes = bytes
        self.atOnce = atOnce
        self.screen = screen
    }
}
