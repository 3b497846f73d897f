import TestSupport
import Testing
import WakeModel
import WakeSystem

@testable import WakeFetch

@Suite("Oblivious HTTP")
struct EncapsulationTests {
    /// RFC 9458, appendix A.
    private enum Example {
        static let secret = "3c168975674b2fa8e465970b79c8dcf09f1c741626480bd4c6162fc5b6a98e1a"
        static let configuration =
            "01002031e1f05a740102115220e9af918f738674aec95f54db6e04eb705aae8e"
            + "79815500080001000100010003"
        static let message = "00034745540568747470730b6578616d706c652e636f6d012f"
        static let ephemeral = "bc51d5e930bda26589890ac7032f70ad12e4ecb37abb1b65b1256c9c48999c73"
        static let request =
            "010020000100014b28f881333e7c164ffc499ad9796f877f4e1051ee6d31bad1"
            + "9dec96c208b4726374e469135906992e1268c594d2a10c695d858c40a026e796"
            + "5e7d86b83dd440b2c0185204b4d63525"
        static let answer = "0140c8"
        static let nonce = "c789e7151fcba46158ca84b04464910d"
        static let response =
            "c789e7151fcba46158ca84b04464910d86f9013e404feea014e7be4a441f234f"
            + "857fbd"
    }

    @Test("is byte for byte the example of RFC 9458, appendix A")
    func example() throws {
        try #require(HPKECipher.aes128GCM.isAvailable, "libcrypto is missing")
        let key = try Self.key(id: 1, bytes(Example.secret), [.aes128GCM, .chaCha20Poly1305])
        #expect(hex(key.configuration.bytes) == Example.configuration)
        let configuration = try #require(
            KeyConfiguration(decoding: bytes(Example.configuration)))
        #expect(configuration == key.configuration)
        let message = try bytes(Example.message)
        let request = try #require(
            ObliviousRequest(
                message, to: configuration, cipher: .aes128GCM,
                ephemeral: bytes(Example.ephemeral)))
        #expect(hex(request.bytes) == Example.request)
        let opened = try opened(ObliviousKeyRing([key]), request.bytes)
        #expect(opened.message.bytes == message)
        let answer = try bytes(Example.answer)
        let response = try #require(opened.response.seal(answer, nonce: bytes(Example.nonce)))
        #expect(hex(response) == Example.response)
        #expect(request.response.open(response) == answer)
    }

    @Test("lists keys as RFC 9458 §3.2 says, and refuses a list with a mistake")
    func lists() throws {
        let one = Self.key(id: 7, Sodium.random(32), [.chaCha20Poly1305]).configuration
        let two = Self.key(id: 9, Sodium.random(32), [.chaCha20Poly1305, .aes128GCM]).configuration
        let list = KeyConfiguration.encode([one, two])
        #expect(KeyConfiguration.list(list) == [one, two])
        // P-256, and a suite of another derivation: passed over.
        let other: [UInt8] = [0, 5, 1, 0, 0x10, 4, 4]
        #expect(KeyConfiguration.list(other + list) == [one, two])
        var derivation = one.bytes
        derivation[derivation.count - 3] = 3
        let foreign = [0, UInt8(derivation.count)] + derivation
        #expect(KeyConfiguration.list(foreign + list) == [one, two])
        #expect(KeyConfiguration.list(other) == [])
        for count in 1..<list.count where count != 2 + one.bytes.count {
            #expect(KeyConfiguration.list(Array(list[..<count])) == nil, "\(count)")
        }
        #expect(KeyConfiguration.list([]) == nil)
        #expect(KeyConfiguration.list(list + [0]) == nil)
        let hash = SHA256.hash(one.bytes.span)
        #expect(one.hash == hash)
    }

    @Test("opens what was sent to the current or the former key, and answers it")
    func overlap() throws {
        // Both with one number: the message tells which.
        let (former, current) = (key(id: 3), key(id: 3))
        let ring = ObliviousKeyRing([current, former])
        for key in [former, current] {
            for cipher in HPKECipher.allCases where cipher.isAvailable {
                let request = try #require(
                    ObliviousRequest([1, 2, 3], to: key.configuration, cipher: cipher))
                #expect(request.bytes.count == 3 + ObliviousRequest.overhead)
                let opened = try opened(ring, request.bytes)
                #expect(opened.message.bytes == [1, 2, 3])
                let response = try #require(opened.response.seal([4]))
                #expect(response.count == 1 + opened.response.overhead)
                #expect(request.response.open(response) == [4])
                for index in response.indices {
                    var changed = response
                    changed[index] ^= 1
                    #expect(request.response.open(changed) == nil)
                    #expect(request.response.open(Array(response[..<index])) == nil)
                }
            }
        }
        let stranger = try #require(ObliviousRequest([1], to: key(id: 3).configuration))
        #expect(failure(ring, stranger.bytes) == .key)
    }

    @Test("opens nothing that was cut or changed, whatever the bit")
    func changed() throws {
        let ring = ObliviousKeyRing([key(id: 200)])
        let request = try #require(
            ObliviousRequest([5, 6], to: ring.keys[0].configuration)
        ).bytes
        for bit in 0..<request.count * 8 {
            var changed = request
            changed[bit / 8] ^= 1 << UInt8(bit % 8)
            // RFC 7748 §5: the highest bit of a point does not count; it is authenticated, too.
            #expect(failure(ring, changed) == .key, "bit \(bit)")
        }
        for count in 0..<request.count {
            let failure = failure(ring, Array(request[..<count]))
            #expect(failure == (count < ObliviousRequest.overhead ? .malformed : .key))
        }
    }

    @Test("keeps a key in a line that says its ciphers, too")
    func lines() throws {
        for ciphers: [HPKECipher] in [[.chaCha20Poly1305], [.chaCha20Poly1305, .aes128GCM]] {
            let line = ObliviousKey.newLine(ciphers: ciphers)
            let read = ObliviousKey(line: line.span)
            let key = try #require(read)
            #expect(key.configuration.ciphers == ciphers)
            #expect(configuration(line.dropLast()) == key.configuration)
            #expect(configuration(line + [10]) == nil)
            #expect(configuration(line.dropLast(2)) == nil)
            #expect(configuration([UInt8(ascii: "B")] + line.dropFirst()) == nil)
        }
    }

    private static func key(id: UInt8, _ secret: [UInt8], _ ciphers: [HPKECipher]) -> ObliviousKey {
        ObliviousKey(id: id, secret: secret.span, ciphers: ciphers)
    }

    private func opened(
        _ ring: ObliviousKeyRing, _ request: [UInt8]
    ) throws -> ObliviousKeyRing.Opened {
        let result = ring.open(request.span)
        return try result.get()
    }

    private func failure(
        _ ring: ObliviousKeyRing, _ request: [UInt8]
    ) -> ObliviousKeyRing.Failure? {
        let result = ring.open(request.span)
        return if case .failure(let failure) = result { failure } else { nil }
    }

    private func configuration(_ line: [UInt8]) -> KeyConfiguration? {
        ObliviousKey(line: line.span)?.configuration
    }

    private func key(id: UInt8) -> ObliviousKey {
        Self.key(id: id, Sodium.random(32), [.chaCha20Poly1305, .aes128GCM])
    }
}
