import Glibc

/// `REVEILLE_LONG` asks for the long form of tests that draw at random.
enum LongForm {
    static var isAsked: Bool { unsafe getenv("REVEILLE_LONG") != nil }

    /// Seeds to try.
    static func seeds(_ short: UInt64, long: UInt64) -> ClosedRange<UInt64> {
        1...(isAsked ? long : short)
    }
}
