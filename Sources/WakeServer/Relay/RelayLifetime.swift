/// How long push services keep wake-ups that are passed on.
///
/// A round has one lifetime, and requests may ask for any: they share rounds of a few steps, each
/// at least what was asked for. A wake-up kept longer harms nobody: it says only "look", and the
/// next one takes its place.
enum RelayLifetime {
    /// Seconds: most intervals are two hours, and after a week another wake-up has come.
    static let steps = [7_200, 28_800, 86_400, 604_800]

    /// The step for a request that asks for so many seconds.
    static func step(of seconds: Int) -> Int {
        steps.first { $0 >= seconds } ?? steps[steps.count - 1]
    }
}
