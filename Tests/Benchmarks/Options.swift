/// `--name value` pairs of a benchmark's command line.
struct Options {
    private var values: [String: String] = [:]
    /// The first word that is no known option, if any.
    private(set) var unknown: String?

    init(_ arguments: [String], known: [String]) {
        var rest = arguments[...]
        while let word = rest.popFirst() {
            let name = String(word.dropFirst(2))
            guard word.hasPrefix("--"), known.contains(name), let value = rest.popFirst() else {
                unknown = word
                return
            }
            values[name] = value
        }
    }

    subscript(_ name: String) -> String? { values[name] }

    func number(_ name: String, default value: Int) -> Int {
        values[name].flatMap(Int.init) ?? value
    }
}
