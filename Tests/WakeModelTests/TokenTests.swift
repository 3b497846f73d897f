import Testing
import WakeModel
import WakeSystem

@Suite("Instance tokens and push tokens")
struct TokenTests {
    // `#expect` cannot take calls whose arguments are spans.
    private func token(_ text: some Sequence<UInt8>) -> InstanceToken? {
        InstanceToken(text: Array(text).span)
    }

    private func apns(_ text: String) throws -> PushToken {
        try PushToken(service: .apns, text: Array(text.utf8).span)
    }

    @Test("secrets of a pool are the bytes they were made of, whatever their neighbours do")
    func pool() {
        var expected: [[UInt8]] = []
        var secrets: [SecretBytes] = []
        do {
            var pool = SecretPool(chunkBytes: 100)
            for number in 0..<300 {
                let bytes = [UInt8](repeating: UInt8(number & 255), count: number * 7 % 160)
                secrets.append(pool.insert(bytes.span))
                expected.append(bytes)
                if number.isMultiple(of: 5) {
                    let index = number / 5
                    secrets[index] = SecretBytes([0xFF])
                    expected[index] = [0xFF]
                }
            }
        }
        #expect(secrets.map { $0.copy() } == expected)
        #expect(secrets[107] == SecretBytes(expected[107]) && secrets[107] != secrets[108])
        #expect(secrets.map(\.count) == expected.map(\.count))
    }

    @Test("43 canonical characters make an instance token, and only those")
    func text() {
        let bytes = (0..<32).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ 5) }
        let text = Base64URL.encode(bytes.span)
        #expect(text.count == 43)
        #expect(token(text)?.bytes.copy() == bytes)
        #expect(token(text.dropLast()) == nil)
        #expect(token(text + [0x41]) == nil)
        #expect(token(text.dropLast() + [0x3D]) == nil)
    }

    @Test("fewer than 8 distinct bytes are no token")
    func distinct() {
        #expect(InstanceToken([UInt8](repeating: 7, count: 32)) == nil)
        #expect(InstanceToken((0..<32).map { UInt8($0 % 7) }) == nil)
        #expect(InstanceToken((0..<32).map { UInt8($0 % 8) }) != nil)
        #expect(InstanceToken((0..<31).map { UInt8($0) }) == nil)
    }

    @Test("no token prints itself")
    func redaction() throws {
        let instance = try #require(InstanceToken((0..<32).map { UInt8($0) }))
        let push = try PushToken(service: .fcm, bytes: Array("secret-token".utf8))
        for text in [
            "\(instance)", String(reflecting: instance), String(describing: push),
            String(reflecting: push), "\(push.bytes)", String(reflecting: [push]),
        ] {
            #expect(!text.contains("secret-token"))
            #expect(!text.contains("0, 1, 2"))
        }
        var dumped = ""
        dump(push, to: &dumped)
        dump(instance, to: &dumped)
        #expect(!dumped.contains("115"))
    }

    @Test("APNs tokens are 32 to 100 bytes as hexadecimal")
    func apns() throws {
        let hex = String(repeating: "Ab", count: 32)
        let token = try apns(hex)
        #expect(token.bytes.count == 32)
        #expect(token.text().copy() == Array(hex.lowercased().utf8))
        #expect(throws: PushTokenError.malformed) {
            try apns("zz")
        }
        #expect(throws: PushTokenError.malformed) {
            try PushToken(service: .apns, bytes: [UInt8](repeating: 1, count: 31))
        }
        #expect(throws: PushTokenError.tooLong) {
            try PushToken(service: .apnsSandbox, bytes: [UInt8](repeating: 1, count: 101))
        }
    }

    @Test("FCM tokens are opaque, visible and at most 588 bytes")
    func fcm() throws {
        _ = try PushToken(service: .fcm, bytes: [UInt8](repeating: 0x61, count: 588))
        #expect(throws: PushTokenError.tooLong) {
            try PushToken(service: .fcm, bytes: [UInt8](repeating: 0x61, count: 589))
        }
        #expect(throws: PushTokenError.malformed) { try PushToken(service: .fcm, bytes: []) }
        #expect(throws: PushTokenError.malformed) { try PushToken(service: .fcm, bytes: [0x20]) }
    }
}
