/// A count for the public: rounded to 10, and not told at all under 20, so that no single person's
/// coming or going shows in it.
package struct RoundedCount: Sendable, Equatable {
    /// nil: fewer than 20.
    package let value: Int?

    package static let least = 20
    package static let step = 10

    package init(_ exact: Int) {
        guard exact >= Self.least else {
            value = nil
            return
        }
        // Half up; written so that the largest count does not overflow.
        let rest = exact % Self.step
        let floor = exact - rest
        value = rest * 2 < Self.step || floor > Int.max - Self.step ? floor : floor + Self.step
    }

    package init(_ exact: UInt64) { self.init(Int(clamping: exact)) }

    package var text: String { value.map(String.init) ?? "fewer than \(Self.least)" }
}
