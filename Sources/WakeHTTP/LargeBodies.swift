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
    /// Sees the head of a request, with an empty body, before the body is read: an answer refuses
    /// it. So who has no business here need not be listened to. Called on the loop's thread.
    package let screen: @Sendable (Request) -> Response?

    package init(
        path: StaticString, bytes: Int, atOnce: Int,
        screen: @escaping @Sendable (Request) -> Response? = { _ in nil }
    ) {
        self.path = path
        self.bytes = bytes
        self.atOnce = atOnce
        self.screen = screen
    }
}
