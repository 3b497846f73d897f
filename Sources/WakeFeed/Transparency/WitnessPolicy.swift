import WakeBytes

/// A trust policy (C2SP tlog-policy): which logs' checkpoints count, which witnesses are known, and
/// how many of them must have cosigned.
public struct WitnessPolicy: Sendable, Hashable {
    /// A log whose checkpoints count.
    package struct Log: Sendable, Hashable {
        package let key: NoteKey
        package let url: String?
    }

    /// A witness by its name in the file.
    package struct Witness: Sendable, Hashable {
        /// Opaque bytes, for people to read.
        package let name: [UInt8]
        package let key: NoteKey
        /// The submission prefix of tlog-witness, where there is one.
        package let url: String?

        /// The name, with what is no UTF-8 replaced.
        package var label: String { String(decoding: name, as: UTF8.self) }
    }

    /// A rule over the witnesses; groups are made of rules before them.
    fileprivate indirect enum Rule: Sendable, Hashable {
        case none
        case witness(Int)
        case threshold(Int, [Rule])

        func isMet(by cosigners: Set<Int>) -> Bool {
            switch self {
            case .none: true
            case .witness(let index): cosigners.contains(index)
            case .threshold(let count, let rules):
                rules.count { $0.isMet(by: cosigners) } >= count
            }
        }
    }

    /// The most bytes of a policy.
    public static let byteLimit = 256 << 10
    /// The most logs, witnesses and groups, each.
    static let lineLimit = 64

    package let logs: [Log]
    package let witnesses: [Witness]
    private let quorum: Rule

    /// Reads a policy's text.
    public init(_ text: [UInt8]) throws(WitnessPolicyError) {
        guard text.count <= Self.byteLimit else { throw WitnessPolicyError(line: 1, .tooLarge) }
        var reader = PolicyReader()
        for (index, line) in text.split(separator: .newline, omittingEmptySubsequences: false)
            .enumerated()
        {
            do throws(PolicyFault) { try reader.read(line) } catch {
                throw WitnessPolicyError(line: index + 1, error)
            }
        }
        guard let quorum = reader.quorum else {
            throw WitnessPolicyError(line: text.count { $0 == .newline } + 1, .noQuorum)
        }
        logs = reader.logs
        witnesses = reader.witnesses
        self.quorum = quorum
    }

    /// Whether these witnesses, by their places in the list, are enough.
    package func isQuorum(_ cosigners: Set<Int>) -> Bool { quorum.isMet(by: cosigners) }

    /// Whether checkpoints count without any cosignature.
    package var needsNoWitness: Bool { isQuorum([]) }

    /// Whether there can be a quorum of signatures that this program can verify.
    package var isSatisfiable: Bool {
        isQuorum(Set(witnesses.indices.filter { witnesses[$0].key.key != nil }))
    }
}

/// A fault in a policy, and its line.
public struct WitnessPolicyError: Error, Equatable, Sendable {
    /// From 1.
    public let line: Int
    let fault: PolicyFault

    init(line: Int, _ fault: PolicyFault) {
        self.line = line
        self.fault = fault
    }

    /// The fault in English.
    public var message: String { "line \(line): \(fault.message)" }
}

/// A reason to refuse a policy.
enum PolicyFault: Error, Equatable, Sendable {
    case tooLarge, tooMany, character, keyword, form, key, algorithm, duplicateKey, reservedName
    case duplicateName, unknownName, usedTwice, threshold, noQuorum, secondQuorum

    var message: String {
        switch self {
        case .tooLarge: "the policy has more than \(WitnessPolicy.byteLimit) bytes"
        case .tooMany: "more than \(WitnessPolicy.lineLimit) logs, witnesses or groups"
        case .character: "a control character that is neither a tab nor a newline"
        case .keyword: "a line begins with log, witness, group or quorum"
        case .form: "too few or too many words for this line"
        case .key: "no verifier key: it has the form NAME+KEYID+KEY"
        case .algorithm: "the key's signatures are of another kind than this line needs"
        case .duplicateKey: "the key is on a line before this one already"
        case .reservedName: "the name none means no witness, and nothing else"
        case .duplicateName: "the name is taken by a line before this one"
        case .unknownName: "no line before this one defines that name"
        case .usedTwice: "the name is a member of a group already"
        case .threshold: "the number of members must be from 1 to as many as there are"
        case .noQuorum: "there is no quorum line"
        case .secondQuorum: "there is a quorum line already"
        }
    }
}

/// The lines of a policy that were read so far.
private struct PolicyReader {
    private(set) var logs: [WitnessPolicy.Log] = []
    private(set) var witnesses: [WitnessPolicy.Witness] = []
    private(set) var quorum: WitnessPolicy.Rule?
    private var rules: [[UInt8]: WitnessPolicy.Rule] = [:]
    private var members: Set<[UInt8]> = []

    private static let none = Array("none".utf8)

    mutating func read(_ line: ArraySlice<UInt8>) throws(PolicyFault) {
        guard line.allSatisfy({ $0 == 0x09 || ($0 >= 0x20 && $0 != 0x7F) }) else {
            throw .character
        }
        let words = line.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
            .map { Array($0) }
        guard let keyword = words.first, keyword.first != UInt8(ascii: "#") else { return }
        let rest = Array(words.dropFirst())
        switch String(decoding: keyword, as: UTF8.self) {
        case "log": try readLog(rest)
        case "witness": try readWitness(rest)
        case "group": try readGroup(rest)
        case "quorum": try readQuorum(rest)
        default: throw .keyword
        }
    }

    private mutating func readLog(_ words: [[UInt8]]) throws(PolicyFault) {
        guard (1...2).contains(words.count) else { throw .form }
        guard let key = NoteKey(words[0]) else { throw .key }
        guard !logs.contains(where: { $0.key.material == key.material }) else {
            throw .duplicateKey
        }
        guard logs.count < WitnessPolicy.lineLimit else { throw .tooMany }
        logs.append(WitnessPolicy.Log(key: key, url: Self.url(words, at: 1)))
    }

    private mutating func readWitness(_ words: [[UInt8]]) throws(PolicyFault) {
        guard (2...3).contains(words.count) else { throw .form }
        guard let key = NoteKey(words[1]) else { throw .key }
        // Ed25519 and ML-DSA-44 cosignatures; a log's key cosigns nothing.
        guard key.type == 0x04 || key.type == 0x06 else { throw .algorithm }
        guard !witnesses.contains(where: { $0.key.material == key.material }) else {
            throw .duplicateKey
        }
        guard witnesses.count < WitnessPolicy.lineLimit else { throw .tooMany }
        try define(words[0], .witness(witnesses.count))
        witnesses.append(
            WitnessPolicy.Witness(name: words[0], key: key, url: Self.url(words, at: 2)))
    }

    private mutating func readGroup(_ words: [[UInt8]]) throws(PolicyFault) {
        guard words.count >= 3 else { throw .form }
        guard rules.count < 2 * WitnessPolicy.lineLimit else { throw .tooMany }
        let names = words[2...]
        var parts: [WitnessPolicy.Rule] = []
        for name in names {
            guard name != Self.none else { throw .reservedName }
            guard let rule = rules[name] else { throw .unknownName }
            guard members.insert(name).inserted else { throw .usedTwice }
            parts.append(rule)
        }
        let count: Int
        switch String(decoding: words[1], as: UTF8.self) {
        case "any": count = 1
        case "all": count = parts.count
        default:
            guard let number = UInt64(canonical: words[1]), number >= 1,
                number <= UInt64(parts.count)
            else { throw .threshold }
            count = Int(number)
        }
        try define(words[0], .threshold(count, parts))
    }

    private mutating func readQuorum(_ words: [[UInt8]]) throws(PolicyFault) {
        guard words.count == 1 else { throw .form }
        guard quorum == nil else { throw .secondQuorum }
        guard words[0] != Self.none else {
            quorum = WitnessPolicy.Rule.none
            return
        }
        guard let rule = rules[words[0]] else { throw .unknownName }
        quorum = rule
    }

    private mutating func define(
        _ name: [UInt8], _ rule: WitnessPolicy.Rule
    ) throws(PolicyFault) {
        guard name != Self.none else { throw .reservedName }
        guard rules.updateValue(rule, forKey: name) == nil else { throw .duplicateName }
    }

    private static func url(_ words: [[UInt8]], at index: Int) -> String? {
        words.indices.contains(index) ? String(decoding: words[index], as: UTF8.self) : nil
    }
}
