import Synchronization
import WakeModel
import WakePush
import WakeStore
import WakeSystem

/// The shares of push services and of hosts of Web Push in some hundred registrations, for plans.
/// Ids are keyed hashes, so the first ones of a table are as good as any drawn by chance.
struct RegistrationSample: Equatable, Sendable {
    private var services: [PushService: Double] = [:]
    private var hosts: [[UInt8]: Double] = [:]
    private var total = 0.0

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

    /// The part of all registrations that is of a push service; 1 when none was drawn.
    func share(of service: PushService) -> Double {
        total > 0 ? services[service, default: 0] / total : 1
    }

    /// The part of all registrations that is of the host of Web Push with the most of them.
    var largestHostShare: Double { total > 0 ? (hosts.values.max() ?? 0) / total : 1 }
}

/// Draws samples of the registrations, and keeps the last one in memory.
final class RegistrationSampler: Sendable {
    private let last = Mutex(RegistrationSample())

    /// Of each generation: a share of a tenth is found to a few hundredths.
    private static let rows = 500

    var sample: RegistrationSample { last.withLock { $0 } }

    /// Of a store that cannot be read the former sample stays.
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
        last.withLock { $0 = sample }
    }
}
