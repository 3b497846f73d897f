import Foundation
import Testing
import WakeModel
import WakeSystem

@Suite("JSON values that are passed over")
struct JSONValueTests {
    private static func skips(_ text: String, depthLimit: Int = 4) -> Bool {
        do throws(JSONError) {
            var scanner = try JSONScanner(Array(text.utf8), depthLimit: depthLimit)
            try scanner.document { scanner throws(JSONError) in try scanner.skip() }
            return true
        } catch {
            return false
        }
    }

    private static let good = [
        "null", "true", "false", "0", "-0", "12", "1.5", "-1.5e+30", "2E-7", "1e5", "\"\"",
        "123456789012345678901234567890",
        #""a\"b\u00e9""#, "[]", "[ ]", "[1, [2], {\"a\" : [null]} ]", "{}",
        #"{"a":1,"b":{"c":[]}}"#,
    ]

    @Test("every kind of value is passed over", arguments: good)
    func accepted(_ text: String) {
        #expect(Self.skips(text) && Self.skips(" \(text)\n"))
    }

    @Test(
        "what is no value is refused",
        arguments: [
            "", "nul", "nulll", "True", "+1", "01", "-", "1.", ".5", "1e", "1e+", "0x1", "NaN",
            "[", "]", "[1,]", "[,1]", "[1 2]", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{a:1}",
            "\"", "'a'", "[1]]", "{\"a\":1,\"a\":2}", "[\"\\x\"]", "1 1",
        ])
    func refused(_ text: String) {
        #expect(!Self.skips(text))
    }

    @Test("no value but a number survives being cut short", arguments: good)
    func everyCut(_ text: String) {
        for count in 0..<text.count {
            let cut = String(text.prefix(count))
            #expect(!Self.skips(cut) || Double(cut) != nil)
        }
    }

    @Test("arrays and objects count as depth alike")
    func depth() {
        #expect(Self.skips("[[[[]]]]") && !Self.skips("[[[[[]]]]]"))
        #expect(Self.skips(#"{"a":[{"a":[]}]}"#) && !Self.skips(#"{"a":[{"a":[{}]}]}"#))
        #expect(!Self.skips(String(repeating: "[", count: 100_000)))
    }

    @Test("the elements of an array come in order")
    func array() throws {
        var numbers: [Int] = []
        var scanner = try JSONScanner(Array(" [1, 2 ,3] ".utf8))
        try scanner.document { scanner throws(JSONError) in
            try scanner.array { scanner throws(JSONError) in numbers.append(try scanner.integer()) }
        }
        #expect(numbers == [1, 2, 3])
    }

    @Test("random values written by Foundation are passed over to their end")
    func property() throws {
        var generator = SystemRandomNumberGenerator()
        func value(_ depth: Int) -> Any {
            switch Int.random(in: 0..<(depth == 0 ? 4 : 6), using: &generator) {
            case 0: return NSNull()
            case 1: return Bool.random(using: &generator)
            case 2: return Double.random(in: -1e9...1e9, using: &generator)
            case 3: return "\"\\/\n\u{e9}\u{1F600}"
            case 4: return (0..<3).map { _ in value(depth - 1) }
            default: return ["a": value(depth - 1), "b": value(depth - 1)]
            }
        }
        for _ in 0..<500 {
            let data = try JSONSerialization.data(
                withJSONObject: value(4), options: [.fragmentsAllowed])
            #expect(Self.skips(String(decoding: data, as: UTF8.self)))
        }
    }
}
