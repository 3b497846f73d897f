/// `--name value` pairs and `--name` flags of a benchmark's command line.
struct Options {
    private var values: [String: String] = [:]
    private var flags: Set<String> = []
    /// The first word that is no known option, if any.
    private(set) var unknown: String?

    /// - Parameters:
    ///   - known: names that a value follows.
    ///   - flags: names that stand alone.
    init(_ arguments: [String], known: [String], flags: [String] = []) {
        var rest = arguments[...]
        while let word = rest.popFirst() {
            let name = String(word.dropFirst(2))
            if word.hasPrefix("--"), flags.contains(name) {
                self.flags.insert(name)
                continue
            }
            guard word.hasPrefix("--"), known.contains(name), let value = rest.popFirst() else {
                unknown = word
                return
            }
            values[name] = value
        }
    }

    subscript(_ name: String) -> String? { values[name] }

    func isSet(_ flag: String) -> Bool { flags.contains(flag) }

    func number(_ name: String, default value: Int) -> Int {
        values[name].flatMap(Int.init) ?? value
    }
}
