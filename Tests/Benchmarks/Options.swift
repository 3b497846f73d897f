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

    /// Measures, and gives the exit status: 2 for an unknown option, with the help, which is no
    /// mistake when it was asked for; 1 for an error.
    func run(
        help: String, _ measure: (Options) async throws -> Int32
    ) async -> Int32 {
        guard unknown == nil else {
            print(help)
            return unknown == "--help" ? 0 : 2
        }
        do {
            return try await measure(self)
        } catch {
            print("bench: \(error)")
            return 1
        }
    }
}
