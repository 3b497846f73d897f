/// The random key of the source tags, replaced after its time.
struct SourceKey: Sendable {
    private var hash: SipHash
    private var until: UInt64
    private let life: UInt64
    private let random: @Sendable () -> UInt64

    /// - Parameters:
    ///   - life: nanoseconds until the key is replaced.
    ///   - random: 64 unpredictable bits.
    init(
        life: UInt64, now: UInt64, random: @escaping @Sendable () -> UInt64 = systemRandom
    ) {
        self.life = life
        self.random = random
        until = now + life
        hash = SipHash(key: random(), random())
    }

    /// nil where no address is known.
    mutating func tag(of address: PeerAddress, now: UInt64) -> SourceTag? {
        guard let prefix = address.prefix else { return nil }
        if now >= until {
            hash = SipHash(key: random(), random())
            until = now + life
        }
        return SourceTag(hash: hash.hash(of: prefix))
    }
}
