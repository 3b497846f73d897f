import Testing
import WakeModel

@Suite("Base64url and hexadecimal")
struct EncodingTests {
    // RFC 4648 §10, without padding.
    static let vectors = [
        ("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg"),
        ("fooba", "Zm9vYmE"), ("foobar", "Zm9vYmFy"),
    ]

    // `#expect` cannot take calls whose arguments are spans.
    private func encode(_ bytes: [UInt8]) -> [UInt8] { Base64URL.encode(bytes.span) }
    private func decode(_ text: [UInt8]) -> [UInt8]? { Base64URL.decode(text.span) }
    private func decode(_ text: String) -> [UInt8]? { decode(Array(text.utf8)) }
    private func unhex(_ text: [UInt8]) -> [UInt8]? { Hex.decode(text.span) }

    @Test("base64url follows the vectors of RFC 4648", arguments: vectors)
    func vector(_ plain: String, _ text: String) {
        #expect(encode(Array(plain.utf8)) == Array(text.utf8))
        #expect(decode(text) == Array(plain.utf8))
    }

    @Test("the two characters of the URL alphabet are used")
    func alphabet() {
        let bytes: [UInt8] = [0xFB, 0xFF]
        #expect(encode(bytes) == Array("-_8".utf8))
        #expect(decode("+/8") == nil)
    }

    @Test(
        "anything but the canonical text is refused",
        arguments: ["Zh", "Zm9", "Zg==", "Z", "Zm9vY", "Zm 9v", "Zm9v\n", "Zm9vYmF\u{0}"])
    func canonical(_ text: String) {
        #expect(decode(text) == nil)
    }

    @Test("every byte string survives the way there and back")
    func roundTrip() {
        for count in 0...70 {
            let bytes = (0..<count).map { _ in UInt8.random(in: 0...255) }
            #expect(decode(encode(bytes)) == bytes)
            let hex = Hex.encode(bytes.span)
            #expect(unhex(hex) == bytes)
        }
    }

    @Test("only one text decodes to each value: no second spelling of a token")
    func singleSpelling() {
        let bytes = (0..<32).map { _ in UInt8.random(in: 0...255) }
        let text = Base64URL.encode(bytes.span)
        for last in UInt8.min...UInt8.max {
            var other = text
            other[42] = last
            if let decoded = decode(other) {
                #expect(encode(decoded) == other)
            }
        }
    }

    @Test("hexadecimal takes both cases and refuses the rest")
    func hexadecimal() {
        #expect(unhex(Array("00fFAb".utf8)) == [0, 255, 0xAB])
        #expect(unhex(Array("0".utf8)) == nil)
        #expect(unhex(Array("0g".utf8)) == nil)
    }
}
