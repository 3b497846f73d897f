/// One of the two pairs of table and keys a registration can live in.
package enum Generation: Sendable, CaseIterable {
    /// Where every `PUT` writes.
    case current
    /// What has not been renewed since the last rotation; destroyed by the next.
    case previous

    package var word: StaticString { self == .current ? "current" : "previous" }
}
