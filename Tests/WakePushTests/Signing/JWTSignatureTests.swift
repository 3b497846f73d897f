import TestSupport
import Testing
import WakeSystem

@testable import WakePush

@Suite("ES256 signatures", .enabled(if: OpenSSLCommand.isInstalled, "needs the openssl command"))
struct JWTSignatureTests {
    @Test("openssl accepts what we sign, and nothing beside it")
    func opensslAcceptsOurs() throws {
        let pair = try SigningKeyPair()
        let key = try P256Key(.privateKey, pem: try pair.privatePEM)
        for length in [1, 55, 56, 64, 300] {
            let message = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 7) }
            let signature = try #require(key.sign(message))
            #expect(signature.raw.count == 64)
            #expect(try pair.opensslAccepts(der: signature.der(), message: message))
            var changed = message
            changed[length / 2] ^= 1
            #expect(try !pair.opensslAccepts(der: signature.der(), message: changed))
        }
    }

    @Test("we accept what openssl signs, and nothing beside it")
    func weAcceptOpenssl() throws {
        let pair = try SigningKeyPair()
        let key = try P256Key(.publicKey, pem: try pair.publicPEM)
        let other = try P256Key(.publicKey, pem: try SigningKeyPair().publicPEM)
        let message = Array("a message".utf8)
        let signature = try #require(ECDSASignature(der: try pair.opensslSigns(message)))
        #expect(key.verifies(signature, of: message))
        #expect(!other.verifies(signature, of: message))
        #expect(!key.verifies(signature, of: Array("a messagf".utf8)))
        for index in 0..<64 {
            var raw = signature.raw
            raw[index] ^= 0x10
            let changed = try #require(ECDSASignature(raw: raw))
            #expect(!key.verifies(changed, of: message))
        }
    }

    @Test("a private key verifies its own signatures")
    func privateVerifies() throws {
        let pair = try SigningKeyPair()
        let key = try P256Key(.privateKey, pem: try pair.privatePEM)
        let message = Array("x".utf8)
        let signature = try #require(key.sign(message))
        #expect(key.verifies(signature, of: message))
    }

    @Test("keys that are not an unencrypted P-256 key are refused by their fault")
    func refusedKeys() throws {
        let pair = try SigningKeyPair()
        #expect(throws: SigningError.keyMalformed) {
            try P256Key(.privateKey, pem: try pair.publicPEM)
        }
        #expect(throws: SigningError.keyMalformed) {
            try P256Key(.publicKey, pem: try pair.privatePEM)
        }
        #expect(throws: SigningError.keyOfOtherKind) {
            try P256Key(.privateKey, pem: try SigningKeyPair(curve: "P-384").privatePEM)
        }
        #expect(throws: SigningError.keyOfOtherKind) {
            try P256Key(.privateKey, pem: try SigningKeyPair(curve: "secp256k1").privatePEM)
        }
        let pem = try pair.privatePEM
        for count in stride(from: 0, to: pem.count - 2, by: 3) {
            #expect(throws: SigningError.keyMalformed) {
                try P256Key(.privateKey, pem: Array(pem.prefix(count)))
            }
        }
        let encrypted = pair.directory.path + "/encrypted.pem"
        try OpenSSLCommand.run([
            "pkey", "-in", pair.privatePath, "-aes256", "-passout", "pass:x", "-out", encrypted,
        ])
        let locked = try pair.bytes(of: "encrypted.pem")
        #expect(throws: SigningError.keyMalformed) {
            try P256Key(.privateKey, pem: locked)
        }
    }

    @Test("a library that is missing is named, with its package")
    func missingLibrary() {
        #expect(throws: SigningError.libraryMissing(.notFound)) {
            try CryptoLibrary(named: "libcrypto.so.absent")
        }
        #expect(throws: SigningError.libraryMissing(.functionMissing)) {
            try CryptoLibrary(named: "libc.so.6")
        }
        let message = SigningError.libraryMissing(.notFound).message
        #expect(message.contains("libcrypto.so.3") && message.contains("libssl3"))
    }

    @Test("a key prints nothing of itself")
    func redacted() throws {
        let key = try P256Key(.privateKey, pem: try SigningKeyPair().privatePEM)
        #expect("\(key)" == "(P256Key)" && String(reflecting: key) == "(P256Key)")
    }
}

@Suite("Signatures as DER and raw")
struct JWTSignatureFormTests {
    @Test("every raw signature survives the way through DER")
    func roundTrip() throws {
        var generator = SystemRandomNumberGenerator()
        for round in 0..<2000 {
            var raw = (0..<64).map { _ in UInt8.random(in: 0...255, using: &generator) }
            // Short scalars and ones with the top bit set are where DER is easily got wrong.
            for index in 0..<(round % 33) { raw[index] = 0 }
            if round % 3 == 0 { for index in 32..<(32 + round % 32) { raw[index] = 0 } }
            let signature = try #require(ECDSASignature(raw: raw))
            let der = signature.der()
            #expect(ECDSASignature(der: der) == signature)
            for cut in der.indices {
                #expect(ECDSASignature(der: Array(der.prefix(cut))) == nil)
            }
            #expect(ECDSASignature(der: der + [0]) == nil)
        }
    }

    @Test(
        "DER that is not canonical is refused",
        arguments: [
            [], [0x30], [0x30, 0x00], [0x31, 6, 2, 1, 1, 2, 1, 1], [0x30, 7, 2, 1, 1, 2, 1, 1],
            [0x30, 6, 2, 1, 0x81, 2, 1, 1], [0x30, 7, 2, 2, 0, 1, 2, 1, 1],
            [0x30, 6, 2, 0, 2, 2, 1, 1], [0x30, 0x81, 6, 2, 1, 1, 2, 1, 1],
            [0x30, 6, 4, 1, 1, 2, 1, 1], [0x30, 3, 2, 1, 1],
            [0x30, 39, 2, 34, 1] + [UInt8](repeating: 1, count: 33) + [2, 1, 1],
        ] as [[UInt8]])
    func refused(_ der: [UInt8]) {
        #expect(ECDSASignature(der: der) == nil)
    }

    @Test("raw signatures are 64 bytes")
    func rawLength() {
        #expect(ECDSASignature(raw: [UInt8](repeating: 1, count: 63)) == nil)
        #expect(ECDSASignature(raw: [UInt8](repeating: 1, count: 65)) == nil)
    }
}

// Spans cannot pass through the macros of tests.

extension P256Key {
    init(_ half: Half, pem: [UInt8]) throws(SigningError) {
        try self.init(half, pem: pem.span)
    }

    func sign(_ message: [UInt8]) -> ECDSASignature? { sign(message.span) }

    func verifies(_ signature: ECDSASignature, of message: [UInt8]) -> Bool {
        verifies(signature, of: message.span)
    }
}

extension ECDSASignature {
    init?(der: [UInt8]) { self.init(der: der.span) }
}
