import TestSupport
import Testing
import WakeSystem

@testable import WakeHTTP

@Suite("The request parser, whatever the bytes and however they are split")
struct RequestParserPropertyTests {
    /// The parts of a valid request, and their serialisation.
    private struct Parts {
        var method = "GET"
        var path = "/"
        var query: String?
        var fields: [(String, String)] = []
        var body: [UInt8] = []

        init(_ random: inout SplitMix64) {
            let methods = ["GET", "HEAD", "PUT", "POST", "DELETE", "OPTIONS"]
            method = methods[Int.random(in: 0..<6, using: &random)]
            path = "/" + Parts.text("abcXYZ019-._~!$&'()*+,;=:@/", 0...30, &random)
            if Bool.random(using: &random) {
                query = Parts.text("abc019-._~=&?/%41", 0...0, &random) + "q=%7E"
            }
            for _ in 0..<Int.random(in: 0...8, using: &random) {
                let name = "X-" + Parts.text("abcXYZ019!#$%&'*+-.^_`|~", 1...12, &random)
                let value = Parts.text("abc 019\t,;:\"()<>@[]{}é", 0...40, &random)
                fields.append((name, Parts.trim(value)))
            }
            if method == "PUT" || method == "POST" || Bool.random(using: &random) {
                let count = Int.random(in: 0...200, using: &random)
                body = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
                fields.append(("Content-Length", String(count)))
            }
            fields.append(("hOST", "a.example:8443"))
            fields.shuffle(using: &random)
        }

        var wire: [UInt8] {
            var text = "\(method) \(path)"
            if let query { text += "?\(query)" }
            text += " HTTP/1.1\r\n"
            for (name, value) in fields { text += "\(name): \(value)\r\n" }
            return Array((text + "\r\n").utf8) + body
        }

        private static func text(
            _ alphabet: String, _ length: ClosedRange<Int>, _ random: inout SplitMix64
        ) -> String {
            let letters = Array(alphabet)
            return String(
                (0..<Int.random(in: length, using: &random)).map { _ in
                    letters[Int.random(in: 0..<letters.count, using: &random)]
                })
        }

        private static func trim(_ text: String) -> String {
            let blank: (Character) -> Bool = { $0 == " " || $0 == "\t" }
            return String(String(text.drop(while: blank).reversed()).drop(while: blank).reversed())
        }
    }

    @Test("a valid request gives back the parts it was made of", arguments: 0..<400)
    func roundTrip(seed: Int) throws {
        var random = SplitMix64(seed: UInt64(seed))
        let parts = Parts(&random)
        let wire = parts.wire
        let run = ParserRun.feed(wire + Array("GET".utf8))
        try #require(run.step == .complete(consumed: wire.count))
        let request = Request(bytes: wire, head: run.head)
        #expect("\(request.method)" == parts.method.lowercased())
        #expect(Array(request.path) == Array(parts.path.utf8))
        #expect(request.query.map(Array.init) == parts.query.map { Array($0.utf8) })
        #expect(Array(request.body) == parts.body)
        let shared = wire.span
        var start = run.head.fields.lowerBound
        for (name, value) in parts.fields {
            let line = "\(name): \(value)".utf8.count
            let field = FieldLine(validated: shared, start..<(start + line))
            #expect(Array(wire[field.name]) == Array(name.utf8))
            #expect(Array(wire[field.value]) == Array(value.utf8))
            start += line + 2
        }
        #expect(start == run.head.fields.upperBound)
    }

    @Test("every split point and every byte alone give the same verdict", arguments: 0..<40)
    func splits(seed: Int) {
        var random = SplitMix64(seed: UInt64(seed) &+ 1_000)
        let wire = Parts(&random).wire
        let whole = ParserRun.feed(wire)
        for cut in 0...wire.count {
            #expect(ParserRun.feed(wire, cuts: [cut]) == whole)
        }
        #expect(ParserRun.feed(wire, cuts: Array(0...wire.count)) == whole)
    }

    @Test("damaged requests never have two framings", arguments: 0..<40)
    func mutations(seed: Int) {
        var random = SplitMix64(seed: UInt64(seed) &+ 2_000)
        let spices: [UInt8] = [0, 9, 10, 13, 32, 37, 44, 48, 58, 64, 127, 128, 255]
        for _ in 0..<50 {
            var wire = Parts(&random).wire
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let place = Int.random(in: 0..<wire.count, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0: wire[place] ^= 1 << UInt8.random(in: 0...7, using: &random)
                case 1: wire[place] = spices.randomElement(using: &random) ?? 0
                case 2: wire.insert(spices.randomElement(using: &random) ?? 0, at: place)
                default: wire.remove(at: place)
                }
            }
            let whole = ParserRun.feed(wire)
            let single = ParserRun.feed(wire, cuts: Array(0...wire.count))
            #expect(single == whole)
            let cut = Int.random(in: 0...wire.count, using: &random)
            #expect(ParserRun.feed(wire, cuts: [cut]) == whole)
            guard case .complete(let consumed) = whole.step else { continue }
            // What follows a complete request never changes where it ended.
            #expect(consumed <= wire.count)
            #expect(ParserRun.feed(Array(wire[..<consumed])) == whole)
            #expect(ParserRun.feed(Array(wire[..<consumed]) + [0, 10, 255]) == whole)
        }
    }

    @Test("a refused prefix is refused whatever follows", arguments: RequestParserTests.fields)
    func refusedPrefix(_ vector: RequestParserTests.Vector) {
        let wire = Array(("PUT / HTTP/1.1\r\n" + vector.wire + "\r\n").utf8)
        let whole = ParserRun.feed(wire)
        for cut in 0...wire.count { #expect(ParserRun.feed(wire, cuts: [cut]) == whole) }
        #expect(ParserRun.feed(wire + Array("GET / HTTP/1.1\r\n\r\n".utf8)) == whole)
    }
}
