/// What a shell offers where a value is to be typed.
package enum Completion: Sendable, Equatable {
    /// Nothing can be offered.
    case nothing
    case file
    case directory
    /// One of these words.
    case choice([String])
    /// One of the lines that this command of the same program prints.
    case listed(by: String)

    /// What the name of a value in the help tells: `FILE`, `DIR`, or words like `stream|poll`.
    init(valueName: String) {
        let names = valueName.split(separator: "|").map(String.init)
        if names.contains(where: { ["FILE", "PATH", "CMD"].contains($0) }) {
            self = .file
        } else if names.contains("DIR") {
            self = .directory
        } else if names.count > 1, names.allSatisfy({ Self.isPlain($0) && $0 == $0.lowercased() }) {
            self = .choice(names)
        } else {
            self = .nothing
        }
    }

    /// Whether a word means itself in every shell.
    static func isPlain(_ word: String) -> Bool {
        !word.isEmpty
            && word.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"),
                    UInt8(ascii: "."):
                    true
                default: false
                }
            }
    }
}
