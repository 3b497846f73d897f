/// The secrets that the feed is checked against. They stay with the app and are lent one at a time.
public protocol LocalSecrets: Sendable {
    /// Changes whenever a secret is added. When it differs from the value of the last check, the
    /// retained batches are checked again, without any request. Keep it across restarts.
    func generation() async throws -> UInt64

    /// Calls `body` once for every secret: a name of the app's choosing that comes back with a
    /// match, and 16 to 1024 bytes (others are passed over).
    func lend(to body: (_ id: String, _ secret: Span<UInt8>) -> Void) async throws
}
