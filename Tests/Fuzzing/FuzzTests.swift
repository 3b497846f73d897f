import Foundation
import TestSupport
import Testing
import WakeModel
import WakeSystem

/// A short, repeatable form of what `Tests/Fuzz` does at length.
@Suite("What must hold of any bytes")
struct FuzzTests {
    @Test(
        "holds of the corpora, and of inputs made of them", .timeLimit(.minutes(5)),
        arguments: Property.allCases)
    func holds(_ property: Property) throws {
        let corpus = try Self.corpus(property)
        for input in corpus { try check(property, input) }
        var mutator = Mutator(corpus, seed: 2)
        for _ in 0..<2000 { try check(property, mutator.next()) }
    }

    @Test("is checked of inputs that are accepted, and of others", arguments: Property.allCases)
    func verdicts(_ property: Property) throws {
        let verdicts = try Self.corpus(property).map { try property.accepts($0) }
        #expect(verdicts.contains(true))
        #expect(verdicts.contains(false))
    }

    @Test("have one corpus for each property")
    func corpora() throws {
        let files = try Repository.paths(in: "Tests/Fuzzing/Corpora", ending: "")
        let names = Property.allCases.map { "Tests/Fuzzing/Corpora/" + $0.rawValue }
        #expect(files == names.sorted())
    }

    private func check(_ property: Property, _ input: [UInt8]) throws {
        guard let violation = property.violation(input) else { return }
        throw TestFailure(
            "\(violation): \(String(decoding: Hex.encode(input.span), as: UTF8.self))")
    }

    /// One input a line, in hexadecimal digits; lines with `#` say what an input once broke.
    private static func corpus(_ property: Property) throws -> [[UInt8]] {
        let lines = try Repository.text("Tests/Fuzzing/Corpora/\(property.rawValue)")
        return try lines.split(separator: "\n").filter { !$0.hasPrefix("#") }.map { line in
            let digits = Array(line.utf8)
            let input = Hex.decode(digits.span)
            return try #require(input)
        }
    }
}
