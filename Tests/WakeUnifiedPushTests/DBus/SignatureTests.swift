import Testing
import WakeSystem
import WakeUnifiedPush

struct SignatureTests {
    @Test(
        "signatures that the specification allows are taken",
        arguments: [
            "", "y", "bnqiuxtdsogh", "v", "as", "aas", "a{sv}", "a{s(ii)}", "(i)", "(i(ii))",
            "a(ya{ov})", "a{ya{yv}}", "sa{sv}", "a{gav}",
        ])
    func valid(text: String) throws {
        let signature = try BusSignature(Array(text.utf8))
        #expect(signature.bytes == Array(text.utf8))
    }

    @Test(
        "signatures that it does not are refused",
        arguments: [
            "a", "aa", "(", ")", "()", "(i", "i)", "{sv}", "a{s}", "a{}", "a{sss}", "a{vs}",
            "a{ass}", "a{(i)s}", "a{sv", "(a)", "z", "r", "e", "m", "*", "a{s{sv}}", "\0",
            "i\u{80}",
            "a{sv)", "(i}", "((i)", "a}",
        ])
    func invalid(text: String) {
        #expect(throws: BusError.malformed(.signature)) { try BusSignature(Array(text.utf8)) }
    }

    @Test("255 bytes are a signature, 256 are not")
    func length() throws {
        _ = try BusSignature(Array(repeating: 0x79, count: 255))
        #expect(throws: BusError.malformed(.signature)) {
            try BusSignature(Array(repeating: 0x79, count: 256))
        }
    }

    private static func nested(arrays: Int, structures: Int) -> [UInt8] {
        Array(
            (String(repeating: "a", count: arrays) + String(repeating: "(", count: structures) + "y"
                + String(repeating: ")", count: structures)).utf8)
    }

    @Test("32 arrays of 32 structures are a signature; one more of either is too deep")
    func depth() throws {
        _ = try BusSignature(Self.nested(arrays: 32, structures: 0))
        _ = try BusSignature(Self.nested(arrays: 0, structures: 32))
        _ = try BusSignature(Self.nested(arrays: 32, structures: 32))
        for (arrays, structures) in [(33, 0), (0, 33), (32, 33), (33, 32)] {
            #expect(throws: BusError.malformed(.depth)) {
                try BusSignature(Self.nested(arrays: arrays, structures: structures))
            }
        }
        // Dictionaries count among what is nested: 32 of them are 64 deep.
        let open = String(repeating: "a{y", count: 32)
        let close = String(repeating: "}", count: 32)
        _ = try BusSignature(Array((open + "y" + close).utf8))
        #expect(throws: BusError.malformed(.depth)) {
            try BusSignature(Array((open + "(y)" + close).utf8))
        }
    }

    @Test("one complete type is told from none and from several")
    func single() throws {
        for text in ["y", "aay", "(yy)", "a{y(yy)}", "a(y)"] {
            #expect(try BusSignature(Array(text.utf8)).isSingle)
        }
        for text in ["", "yy", "ayy", "(y)(y)", "a{yy}y"] {
            #expect(try !BusSignature(Array(text.utf8)).isSingle)
        }
    }

    @Test("names and paths follow their grammars")
    func names() {
        func all(_ texts: [String], _ isRight: ([UInt8]) -> Bool) -> [String] {
            texts.filter { !isRight(Array($0.utf8)) }
        }
        func none(_ texts: [String], _ isRight: ([UInt8]) -> Bool) -> [String] {
            texts.filter { isRight(Array($0.utf8)) }
        }
        let long = String(repeating: "a", count: 253)
        #expect(all(["/", "/a", "/_/9", "/org/A_1"], BusGrammar.isObjectPath) == [])
        #expect(none(["", "a", "//", "/a/", "/a//b", "/a-b", "/é"], BusGrammar.isObjectPath) == [])
        #expect(all(["a.b", "_a._9", "a." + long], BusGrammar.isInterface) == [])
        #expect(
            none(
                ["", "a", ".a", "a.", "a..b", "9a.b", "a.9", "a-b.c", "ab." + long, "a.b\0"],
                BusGrammar.isInterface) == [])
        #expect(all(["a", "_9", long + "aa"], BusGrammar.isMember) == [])
        #expect(none(["", "9", "a.b", "a-b", long + "aaa"], BusGrammar.isMember) == [])
        #expect(all([":1.7", ":1.9-a", "a-b.c", "_.-"], BusGrammar.isBusName) == [])
        #expect(
            none([":", ":1", ":1.", "a", "9a.b", "a.b:1", "a.9"], BusGrammar.isBusName) == [])
        #expect(BusGrammar.isUniqueName(Array(":1.7".utf8)))
        #expect(!BusGrammar.isUniqueName(Array("a.b".utf8)))
        #expect(!BusGrammar.isText([0x61, 0]) && !BusGrammar.isText([0xC0, 0x80]))
        #expect(!BusGrammar.isText([0xED, 0xA0, 0x80]) && BusGrammar.isText([0xEF, 0xBF, 0xBE]))
    }
}
