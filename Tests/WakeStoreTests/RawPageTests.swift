import TestSupport
import Testing
import WakeModel
import WakeSystem

@testable import WakeStore

/// The rows of a broadcast's page against the keys that open one row.
@Suite("The rows of a page")
struct RawPageTests {
    private let keys = GenerationKeys(master: KeyMemory.random())
    private let id = [UInt8](0..<32)

    private func open(
        _ rows: [(sealed: [UInt8], id: [UInt8])], _ keys: GenerationKeys
    ) -> [PushToken] {
        RawPage(bytes: rows.flatMap { $0.id + $0.sealed }, ranges: 1, last: nil, keys: keys).open()
            .map(\.token)
    }

    @Test("open as they were sealed, of every length")
    func lengths() throws {
        var tokens = try (1...Limits.pushTokenBytes).map {
            try PushToken(service: .fcm, bytes: [UInt8](repeating: 0x61, count: $0))
        }
        tokens.append(try PushToken(service: .apns, bytes: [UInt8](0..<32)))
        let endpoint = Array("https://push.example/".utf8) + [UInt8](repeating: 0x78, count: 300)
        tokens.append(try PushToken(service: .webPush, bytes: endpoint))
        var random = SplitMix64(seed: 5)
        tokens.shuffle(using: &random)
        let rows = tokens.map { token in
            let id = random.bytes(32)
            return (sealed: keys.seal(token, id: id), id: id)
        }
        #expect(open(rows, keys) == tokens)
        #expect(rows.map { keys.open($0.sealed.span, id: $0.id.span) } == tokens)
    }

    @Test("are left out with any bit changed, another id or other keys; the others open")
    func refusals() throws {
        let token = try PushToken(service: .fcm, bytes: [UInt8](repeating: 0x62, count: 400))
        let sealed = keys.seal(token, id: id)
        var rows: [(sealed: [UInt8], id: [UInt8])] = []
        for bit in 0..<sealed.count * 8 {
            var changed = sealed
            changed[bit / 8] ^= 1 << (bit % 8)
            rows.append((changed, id))
        }
        for bit in 0..<id.count * 8 {
            var changed = id
            changed[bit / 8] ^= 1 << (bit % 8)
            rows.append((sealed, changed))
        }
        #expect(open([(sealed, id)] + rows + [(sealed, id)], keys) == [token, token])
        #expect(open([(sealed, id)], GenerationKeys(master: KeyMemory.random())).isEmpty)
    }
}
