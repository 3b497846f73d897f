import WakeModel

/// One pass of a run over the store: the push services whose rows it sends, and those that have
/// held up the others for too long. Rows of the latter are left to a pass of their own while there
/// is no room for them, so that no push service waits for another.
struct RunPass {
    let services: ServiceSet
    /// Whether every row is read for the first time.
    let isFirst: Bool
    private(set) var lagging: ServiceSet = []
    private var waited: [UInt8: Duration] = [:]

    /// The part of a run that one push service may cost the others, besides the second that a
    /// reconnect may take.
    private static let tolerance = 20
    private static let grace = Duration.seconds(1)

    /// The first pass.
    init() { (services, isFirst) = (.all, true) }

    /// Another pass.
    init(_ services: ServiceSet) {
        self.services = services
        isFirst = false
    }

    var servicesInTime: ServiceSet { services.subtracting(lagging) }

    /// Counts a time for which the pass waited for room for one push service while another had too
    /// little to do.
    mutating func holdUp(_ service: ServiceSet, for time: Duration, elapsed: Duration) {
        let sum = waited[service.rawValue, default: .zero] + time
        waited[service.rawValue] = sum
        if sum > Self.grace + elapsed / Self.tolerance { lagging.insert(service) }
    }
}

/// A set of push services. The raw value is a byte of the checkpoint and never changes meaning.
struct ServiceSet: OptionSet, Sendable {
    let rawValue: UInt8

    init(rawValue: UInt8) { self.rawValue = rawValue }
    init(_ service: PushService) { rawValue = 1 << (service.rawValue - 1) }

    /// Those to come, too: of a push service without a gateway nothing is left to do.
    static let all = ServiceSet(rawValue: .max)
}
