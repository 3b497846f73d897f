import TestSupport
import Testing
import WakeModel
import WakeSystem

@testable import WakeFetch

@Suite("HPKE")
struct HPKETests {
    @Test(
        "encrypts, decrypts and exports as RFC 9180, appendix A says",
        arguments: [HPKEVector.aes, .chaCha])
    func vectors(_ vector: HPKEVector) throws {
        try #require(vector.cipher.isAvailable, "libcrypto is missing")
        let info = try bytes(HPKEVector.info)
        let sender = try #require(
            HPKEContext.sender(
                to: bytes(vector.receiverKey), info: info, cipher: vector.cipher,
                ephemeral: bytes(vector.ephemeral)))
        #expect(hex(sender.encapsulated) == vector.encapsulated)
        let secret = try bytes(vector.receiver)
        let key = AgreementKey(secret: secret.span)
        #expect(hex(key.publicKey) == vector.receiverKey)
        var sending = sender.context
        var receiving = try #require(
            HPKEContext(
                receivedBy: key, encapsulated: sender.encapsulated, info: info,
                cipher: vector.cipher))
        let message = try bytes(HPKEVector.message)
        for number in 0...256 {
            let associated = Array("Count-\(number)".utf8)
            let sealed = sending.seal(message, associated: associated) ?? []
            if let expected = vector.messages[number] { #expect(hex(sealed) == expected) }
            let opened = receiving.open(sealed.span, associated: associated)
            #expect(opened == message)
        }
        for (context, value) in vector.exports {
            for side in [sending, receiving] {
                let exported = side.export(try bytes(context), count: 32).copy()
                #expect(hex(exported) == value)
            }
        }
    }

    @Test("refuses a changed bit anywhere, and keeps its place", arguments: HPKECipher.allCases)
    func changedBits(_ cipher: HPKECipher) throws {
        let secret = Sodium.random(32)
        let key = AgreementKey(secret: secret.span)
        let (sender, encapsulated) = try #require(
            HPKEContext.sender(to: key.publicKey, info: [1], cipher: cipher))
        var sending = sender
        var receiving = try #require(
            HPKEContext(
                receivedBy: key, encapsulated: encapsulated, info: [1], cipher: cipher))
        let sealed = sending.seal([7, 8, 9]) ?? []
        for bit in 0..<sealed.count * 8 {
            var changed = sealed
            changed[bit / 8] ^= 1 << UInt8(bit % 8)
            let opened = receiving.open(changed.span)
            #expect(opened == nil)
        }
        for count in 0..<sealed.count {
            let opened = receiving.open(sealed.span.extracting(0..<count))
            #expect(opened == nil)
        }
        let (first, second) = (receiving.open(sealed.span), receiving.open(sealed.span))
        #expect(first == [7, 8, 9])
        #expect(second == nil, "each message once")
    }

    /// RFC 7748 §6.1, RFC 9180 §7.1.4.
    @Test(
        "refuses points of small order",
        arguments: [
            "0000000000000000000000000000000000000000000000000000000000000000",
            "0100000000000000000000000000000000000000000000000000000000000000",
            "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
            "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
            "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
            "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
            "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        ])
    func smallOrder(_ point: String) throws {
        let point = try bytes(point)
        #expect(
            HPKEContext.sender(to: point, info: [], cipher: .chaCha20Poly1305) == nil)
        let secret = Sodium.random(32)
        let key = AgreementKey(secret: secret.span)
        #expect(
            HPKEContext(
                receivedBy: key, encapsulated: point, info: [], cipher: .chaCha20Poly1305) == nil)
    }

    /// RFC 5869, appendix A.1 and A.3.
    @Test("derives keys as RFC 5869, appendix A says")
    func derivation() throws {
        let input = [UInt8](repeating: 0x0b, count: 22)
        let salt = try bytes("000102030405060708090a0b0c")
        let key = HKDF.extract(salt: salt.span, [input])
        #expect(hex(key) == "077709362c2e32df0ddc3f0dc47bba6390b6c73bb50f9c3122ec844ad7c2b3e5")
        let context = [try bytes("f0f1f2f3f4"), try bytes("f5f6f7f8f9")]
        let output = HKDF.expand(key.span, context, count: 42)
        #expect(
            hex(output) == "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf"
                + "34007208d5b887185865")
        let nothing: [UInt8] = []
        let unsalted = HKDF.extract(salt: nothing.span, [Array(input[..<11]), Array(input[11...])])
        let plain = HKDF.expand(unsalted.span, [], count: 42)
        #expect(
            hex(plain) == "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d"
                + "9d201395faa4b61a96c8")
    }
}

func bytes(_ digits: String) throws -> [UInt8] {
    let digits = Array(digits.utf8)
    let bytes = Hex.decode(digits.span)
    return try #require(bytes)
}

func hex(_ bytes: [UInt8]) -> String { String(decoding: Hex.encode(bytes.span), as: UTF8.self) }
