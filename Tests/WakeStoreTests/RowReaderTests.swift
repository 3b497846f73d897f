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

    private func open(_ reader: inout RowReader, _ sealed: [UInt8], _ id: [UInt8]) -> PushToken? {
        reader.open(sealed.span, id: id.span)
    }

    @Test("opens rows of every length as they were sealed, one after the other")
    func lengths() throws {
        var reader = keys.reader()
        var tokens = try (1...Limits.pushTokenBytes).map {
            try PushToken(service: .fcm, bytes: [UInt8](repeating: 0x61, count: $0))
        }
        tokens.append(try PushToken(service: .apns, bytes: [UInt8](0..<32)))
        let endpoint = Array("https://push.example/".utf8) + [UInt8](repeating: 0x78, count: 300)
        tokens.append(try PushToken(service: .webPush, bytes: endpoint))
        var random = SplitMix64(seed: 5)
        tokens.shuffle(using: &random)
        for token in tokens {
            let id = random.bytes(32)
            let sealed = keys.seal(token, id: id)
            #expect(open(&reader, sealed, id) == token)
            #expect(open(&reader, sealed, id) == keys.open(sealed.span, id: id.span))
        }
    }

    @Test("refuses a row with any bit changed, another id, other keys, and goes on")
    func refusals() throws {
        var reader = keys.reader()
        let token = try PushToken(service: .fcm, bytes: [UInt8](repeating: 0x62, count: 400))
        let sealed = keys.seal(token, id: id)
        for bit in 0..<sealed.count * 8 {
            var changed = sealed
            changed[bit / 8] ^= 1 << (bit % 8)
            #expect(open(&reader, changed, id) == nil)
        }
        for bit in 0..<id.count * 8 {
            var changed = id
            changed[bit / 8] ^= 1 << (bit % 8)
            #expect(open(&reader, sealed, changed) == nil)
        }
        for count in [0, 1, 39, 40, 551] {
            #expect(open(&reader, Array(sealed[..<count]), id) == nil)
        }
        var other = GenerationKeys(master: KeyMemory.random()).reader()
        #expect(open(&other, sealed, id) == nil)
        #expect(open(&reader, sealed, id) == token)
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
                key: key, plaintextBytes: count, prefix: prefix,
                associatedBytes: associated.count)
            var opened = [UInt8](repeating: 0, count: count)
            var output = opened.mutableSpan
            let isOpen = reader.open(sealed.span, associated: associated.span, into: &output)
            if isOpen { reader.decryptRest(of: sealed.span, into: &output) }
            #expect(isOpen && opened == plaintext)
        }
    }
}
