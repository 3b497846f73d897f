import Synchronization
import WakeModel
import WakePush
import WakeStore
import WakeSystem

/// The shares of push services, and of the largest host of Web Push, in all registrations. Only
/// numbers: the host of somebody's own push server may be his name.
struct RegistrationShares: Equatable, Sendable {
    /// 0 to 1; all of them 1 while no registration was seen.
    private let services: [PushService: Double]?
    let largestHost: Double

    init() { (services, largestHost) = (nil, 1) }

    init(_ sample: RegistrationSample) {
        let total = sample.total
        services = total > 0 ? sample.services.mapValues { $0 / total } : nil
        largestHost = total > 0 ? (sample.hosts.values.max() ?? 0) / total : 1
    }

    subscript(service: PushService) -> Double {
        services.map { $0[service, default: 0] } ?? 1
    }
}

/// Some hundred registrations of each generation. Ids are keyed hashes, so the first ones of a
/// table are as good as any drawn by chance.
struct RegistrationSample {
    fileprivate var services: [PushService: Double] = [:]
    fileprivate var hosts: [[UInt8]: Double] = [:]
    fileprivate var total = 0.0

    /// - Parameters:
    ///   - tokens: of one generation.
    ///   - registrations: an estimate of those that they stand for.
    mutating func add(_ tokens: [PushToken], for registrations: Double) {
        let weight = registrations / Double(max(1, tokens.count))
        for token in tokens {
            total += weight
            services[token.service, default: 0] += weight
            guard token.service == .webPush else { continue }
            let host = token.withAddress { bytes in
                PushEndpoint(bytes).map { bytes.extracting($0.host).array } ?? []
            }
            hosts[host, default: 0] += weight
        }
    }
}

/// Draws samples of the registrations, and keeps the shares of the last one in memory.
final class RegistrationSampler: Sendable {
    private let last = Mutex(RegistrationShares())

    /// Of each generation: a share of a tenth is found to a few hundredths.
    private static let rows = 500

    var shares: RegistrationShares { last.withLock { $0 } }

    /// Of a store that cannot be read the former shares stay.
    func draw(from store: Store) async {
        var sample = RegistrationSample()
        for generation in Generation.allCases {
            guard let page = await store.page(of: generation, after: [], limit: Self.rows)
            else { return }
            var count = Double(page.rows.count)
            if page.rows.count == Self.rows, let id = page.last {
                let reached = Double(id.span.bigEndian(at: 0) as UInt32) / 0x1p32
                count /= max(reached, 0x1p-32)
            }
            sample.add(page.rows.map(\.token), for: count)
        }
        let shares = RegistrationShares(sample)
        last.withLock { $0 = shares }
    }
}
