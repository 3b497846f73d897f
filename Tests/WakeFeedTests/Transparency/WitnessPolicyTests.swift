import Testing
import WakeModel
import WakeSystem

@testable import WakeFeed

@Suite("Trust policies (C2SP tlog-policy)")
struct WitnessPolicyTests {
    static func key(_ number: UInt8, _ algorithm: NoteKey.Algorithm) -> NoteKey {
        let key = SigningKey(seed: [UInt8](repeating: number, count: 32).span)
        guard let name = NoteKeyName("k\(number).example") else { preconditionFailure() }
        return NoteKey(name: name, algorithm: algorithm, key: key.verifyingKey)
    }

    private static func witness(_ name: String, _ number: UInt8, _ url: String = "") -> String {
        "witness \(name) \(key(number, .cosignature).text) \(url)\n"
    }

    private static func read(_ text: String) throws(WitnessPolicyError) -> WitnessPolicy {
        try WitnessPolicy(Array(text.utf8))
    }

    private static func fault(_ text: String) -> WitnessPolicyError? {
        do throws(WitnessPolicyError) {
            _ = try read(text)
            return nil
        } catch { return error }
    }

    /// The specification's example, with keys.
    private static let example =
        """
        log \(key(9, .ed25519).text)

        \(witness("X1", 1))\(witness("X2", 2))\(witness("X3", 3, "https://x3.example/w"))
        group X-witnesses 2 X1 X2 X3

        \(witness("Y1", 4))\t \(witness("Y2", 5))\(witness("Y3", 6))
        group Y-witnesses any Y1 Y2 Y3
          # a comment with ü
        group X-and-Y all X-witnesses Y-witnesses
        quorum X-and-Y

        """

    @Test("the specification's example: two of X, and one of Y")
    func example() throws {
        let policy = try Self.read(Self.example)
        #expect(policy.logs.map(\.key) == [Self.key(9, .ed25519)])
        #expect(policy.witnesses.map(\.label) == ["X1", "X2", "X3", "Y1", "Y2", "Y3"])
        #expect(policy.witnesses[2].url == "https://x3.example/w" && policy.witnesses[0].url == nil)
        for set in 0..<64 {
            let cosigners = Set((0..<6).filter { set >> $0 & 1 == 1 })
            let expected =
                cosigners.intersection([0, 1, 2]).count >= 2
                && !cosigners.isDisjoint(with: [3, 4, 5])
            #expect(policy.isQuorum(cosigners) == expected)
        }
        #expect(policy.isSatisfiable && !policy.needsNoWitness)
    }

    @Test("no witness, one witness, and keys that cannot be verified here")
    func small() throws {
        let none = try Self.read("quorum none")
        #expect(none.needsNoWitness && none.isSatisfiable)
        let one = try Self.read(Self.witness("none-of-us", 1) + "quorum none-of-us\n")
        #expect(one.isQuorum([0]) && !one.isQuorum([]))
        var material: [UInt8] = [6] + [UInt8](repeating: 7, count: 1312)
        let hash = SHA256.hash((Array("pq.example\n".utf8) + material).span)
        let id = String(decoding: Hex.encode(hash.span.extracting(0..<4)), as: UTF8.self)
        let text = String(decoding: Base64.encode(material.span), as: UTF8.self)
        let line = "witness pq pq.example+\(id)+\(text)\n"
        let both = try Self.read(line + Self.witness("a", 1) + "group g any pq a\nquorum g\n")
        #expect(both.isSatisfiable)
        #expect(try !Self.read(line + "quorum pq").isSatisfiable)
        material.removeLast()
        let short = String(decoding: Base64.encode(material.span), as: UTF8.self)
        #expect(Self.fault("witness pq pq.example+\(id)+\(short)\nquorum pq")?.fault == .key)
    }

    @Test("each fault with its line")
    func faults() {
        let two = Self.witness("a", 1) + Self.witness("b", 2)
        let cases: [(String, PolicyFault, Int)] = [
            ("", .noQuorum, 1), (two, .noQuorum, 3), ("quorum\n", .form, 1),
            ("quorum a\n", .unknownName, 1), ("quorum none\nquorum none", .secondQuorum, 2),
            ("witnesses\n", .keyword, 1), ("Quorum none", .keyword, 1), ("log\n", .form, 1),
            ("log a+b+c\n", .key, 1), ("witness a\n", .form, 1), ("witness a b\n", .key, 1),
            ("witness a \(Self.key(1, .ed25519).text)\n", .algorithm, 1),
            (two + Self.witness("c", 1), .duplicateKey, 3),
            (two + Self.witness("a", 3), .duplicateName, 3),
            (Self.witness("none", 1), .reservedName, 1), (two + "group g 0 a b", .threshold, 3),
            (two + "group g 3 a b", .threshold, 3), (two + "group g 02 a b", .threshold, 3),
            (two + "group g some a b", .threshold, 3), (two + "group g any", .form, 3),
            (two + "group g any a a", .usedTwice, 3),
            (two + "group g any a\ngroup h any a b", .usedTwice, 4),
            (two + "group g any g", .unknownName, 3), (two + "group g any none", .reservedName, 3),
            (two + "group none any a", .reservedName, 3),
            (two + "group a any a b", .duplicateName, 3), ("quorum none\r\n", .character, 1),
            ("# \u{0}\nquorum none", .character, 1), ("\u{7F}", .character, 1),
            ("quorum \u{A0}none", .unknownName, 1),
        ]
        for (text, fault, line) in cases {
            #expect(Self.fault(text) == WitnessPolicyError(line: line, fault), "\(text)")
        }
        let log = Self.key(1, .ed25519).text
        #expect(Self.fault("log \(log)\nlog \(log) https://b\n")?.fault == .duplicateKey)
        #expect(Self.fault(String(repeating: "#", count: 300_000))?.fault == .tooLarge)
    }

    @Test("the limits that the specification asks for")
    func limits() throws {
        var text = ""
        for number in UInt8(0)..<32 {
            text += "log \(Self.key(100 + number, .ed25519).text)\n"
            text += Self.witness("w\(number)", number)
            text += "group g\(number) any w\(number)\n"
        }
        let all = (0..<32).map { "g\($0)" }.joined(separator: " ")
        let policy = try Self.read(text + "group all 32 \(all)\nquorum all\n")
        #expect(policy.isQuorum(Set(0..<32)) && !policy.isQuorum(Set(0..<31)))
    }
}
