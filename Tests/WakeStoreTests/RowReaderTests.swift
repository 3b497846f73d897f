import TestSupport
import Testing
import WakeModel
import WakeSodium
import WakeSystem

@testable import WakeStore

/// The reader of a broadcast against the keys that open one row.
@Suite("The reader of many rows")
struct RowReaderTests {
    private let keys = GenerationKeys(master: KeyMemory.random())
    private let id = [UInt8](0..<32)

    /// Opens rows one after the other by one reader.
    private func open(
        _ rows: [(sealed: [UInt8], id: [UInt8])], _ keys: GenerationKeys
    ) -> [PushToken?] {
        var tokens: [PushToken?] = []
        keys.withReader { reader, key in
            for row in rows {
                tokens.append(reader.open(row.sealed.span, id: row.id.span, key: key))
            }
        }
        return tokens
    }

    @Test("opens rows of every length as they were sealed, one after the other")
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

    @Test("refuses a row with any bit changed, another id, other keys, and goes on")
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
        for count in [0, 1, 39, 40, 551] { rows.append((Array(sealed[..<count]), id)) }
        let refused = [PushToken?](repeating: nil, count: rows.count)
        #expect(open(rows + [(sealed, id)], keys) == refused + [token])
        #expect(open([(sealed, id)], GenerationKeys(master: KeyMemory.random())) == [nil])
    }

    @Test("opens what libsodium seals in one call: any plaintext, any associated bytes")
    func libsodium() {
        var random = SplitMix64(seed: 6)
        for _ in 0..<200 {
            let key = KeyMemory(random.bytes(32).span)
            let count = Int.random(in: SealedBoxReader.startBytes...700, using: &random)
            let prefix = random.bytes(Int.random(in: 0...40, using: &random))
            let associated = random.bytes(Int.random(in: 0...40, using: &random))
            let plaintext = random.bytes(count)
            let whole = prefix + associated
            let sealed = SealedBox.seal(plaintext.span, associated: whole.span, key: key)
            var reader = SealedBoxReader(
                plaintextBytes: count, prefix: prefix, associatedBytes: associated.count)
            var opened = [UInt8](repeating: 0, count: count)
            var output = opened.mutableSpan
            let isOpen = key.withSpan { key in
                reader.open(sealed.span, associated: associated.span, key: key, into: &output)
            }
            if isOpen { reader.decryptRest(of: sealed.span, into: &output) }
            #expect(isOpen && opened == plaintext)
        }
    }
}
