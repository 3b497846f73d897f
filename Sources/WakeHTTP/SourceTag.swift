/// Stands for a client's address prefix (/24, /56) without being one: a keyed hash whose key lives
/// ten minutes, in memory only. Two connections with equal tags came from one prefix; nothing else
/// can be learned from it.
package struct SourceTag: Sendable, Hashable {
    private let hash: UInt64

    init(hash: UInt64) {
        self.hash = hash
    }
}

/// A tag is about a person's network: it has no text.
extension SourceTag: CustomStringConvertible, CustomReflectable {
    package var description: String { "SourceTag" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
